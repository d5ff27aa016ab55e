"""The commands as ordinary clients of the HTTP API."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from infra.usage import Usage
from shared.domain.errors import Broken, Conflicting, Invalid, NotFound, OnsaleError, Refused, Unavailable

ANSWER_WITHIN_S = 30
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Api:
    """One base address, and the token that speaks there."""

    url: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse an address that is none."""
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise Usage(f"{self.url!r} is not an address such as http://127.0.0.1:8000.")

    def call(
        self, method: str, path: str, *, body: object | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Send one request; return status and JSON, or raise the error family that the status means."""
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            self.url.rstrip("/") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **(headers or {})},
        )
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310
                return answer.status, _object(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise error_of(error.code, _object(error.read())) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise Unavailable(
                f"{self.url} does not answer ({reason}): start the system with `onsale up`, or name another address "
                "with --url."
            ) from None


def error_of(status: int, problem: dict[str, Any]) -> OnsaleError:
    """Turn an HTTP error and its problem body into the error of the same family."""
    detail = str(problem.get("detail") or f"The service answered {status}.")
    match status:
        case 404:
            return NotFound(detail)
        case 409:
            return Conflicting(detail)
        case 422 | 400:
            return Invalid(detail, field=str(problem.get("field") or ""))
        case 429 | 503:
            return Unavailable(detail, retry_after_s=problem.get("retry_after_s"))
        case _ if status >= _SERVER_ERROR:
            return Broken(detail)
        case _:
            return Refused(detail)


def _object(said: bytes) -> dict[str, Any]:
    try:
        value = json.loads(said)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
