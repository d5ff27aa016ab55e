"""One process's connections to the door: sends, times, and notes every answer."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp

from infra.load.receipts import Answer, Kind

# Connections of one process; more buyers than that take turns, and their wait counts.
CONNECTIONS = 400
ANSWER_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer as a bot needs it: what goes into the receipt, and the body."""

    answer: Answer
    body: dict[str, Any]

    @property
    def status(self) -> int:
        """The HTTP status, 0 when no answer came."""
        return self.answer.status


class Client:
    """Keep-alive connections to one base address."""

    def __init__(self, url: str, *, connections: int = CONNECTIONS) -> None:
        self._url = url.rstrip("/")
        self._connections = connections
        self.statuses: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        """Open the session."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN_S),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        await self._session.close()

    async def send(
        self,
        kind: Kind,
        method: str,
        path: str,
        *,
        token: str | None = None,
        body: bytes | None = None,
        key: str | None = None,
    ) -> Reply:
        """Send one request; `ms` runs from here, a wait for a free connection included."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if key is not None:
            headers["Idempotency-Key"] = f'"{key}"'
        began = time.perf_counter()
        status, said, retry_after_s = 0, b"", None
        try:
            async with self._session.request(method, self._url + path, data=body, headers=headers) as response:
                said = await response.read()
                status = response.status
                retry_after_s = _seconds(response.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError):
            status = 0
        ms = (time.perf_counter() - began) * 1000
        self.statuses[f"{kind} {status}"] += 1
        value = _object(said)
        problem = value.get("type") if status >= 400 else None  # noqa: PLR2004 - HTTP's line between good and bad
        answer = Answer(kind, time.time_ns() // 1_000_000, status, ms, retry_after_s, problem)
        return Reply(answer, value)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _object(said: bytes) -> dict[str, Any]:
    try:
        value = json.loads(said)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
