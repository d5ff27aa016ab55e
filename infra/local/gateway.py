"""API Gateway's part on one machine: an ASGI application that calls the Lambda handler.

Each request becomes an event and is answered by the handler on a thread of a bounded pool, so none waits for another's
store call; what buyers come for is answered by fibers where the store lets it. Beyond a bounded number in flight the
gateway itself answers 503.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aws_lambda_powertools.event_handler import Response

from infra.local.authorizer import Authorizer
from infra.local.fibers import Fibers
from infra.local.gateway_event import gateway_event, joined_headers
from ingest.errors import OverBudget, TooLarge
from ingest.problems import problem_of
from ingest.request_body import body_limit
from shared.domain.errors import Refused, Unavailable
from shared.ports.system import Clock, Ids

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]

# Requests begun and not yet answered; more would only grow the time that each waits.
MAX_IN_FLIGHT = 2_000
# Orders placed by fibers at a time, and as many looked at: enough to fill a transaction while the one before is synced.
MAX_FIBERS = 64
_STOPPING = "The server is stopping; repeat the same request shortly, an order under the same Idempotency-Key."
# Placing an order and looking at it: what waits by nothing but its store and the sale's turn.
_FOR_FIBERS = re.compile(r"(?:GET|POST) /v1/events/[^/]+/orders(?:/[^/]+)?")


class Gateway:
    """One process's gateway in front of a handler."""

    def __init__(
        self,
        handler: Handler,
        authorizer: Authorizer,
        *,
        clock: Clock,
        ids: Ids,
        threads: int,
        fibers: Fibers | None = None,
    ) -> None:
        """Answer with `handler` on `threads` threads, or by `fibers` when its requests for orders wait by them."""
        self._handler = handler
        self._authorizer = authorizer
        self._clock = clock
        self._ids = ids
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="door")
        self._fibers = fibers
        # Who only looks does not wait for those who write.
        self._rooms = {"GET": asyncio.Semaphore(MAX_FIBERS), "POST": asyncio.Semaphore(MAX_FIBERS)}
        self._in_flight = 0
        self._prefix = ids.random_bytes(6).hex()
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3); there is nothing to start or stop."""
        if self._in_flight >= MAX_IN_FLIGHT:
            await send_answer(send, self._problem(OverBudget("The server is busy; repeat the same request shortly.")))
            return
        self._in_flight += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            self._in_flight -= 1

    async def ask(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """Return what the handler answers to a request without a body."""
        return await self._handle(scope, headers, b"")

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Say whether the token of a request, if it has one, is valid now."""
        authorization = headers.get("authorization")
        if authorization is None:
            return True
        try:
            self._authorizer.claims(authorization)
        except Refused:
            return False
        return True

    def close(self) -> None:
        """Return when the threads have ended, after what they are at."""
        self._pool.shutdown()
        if self._fibers is not None:
            self._fibers.close()

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        headers = joined_headers(scope["headers"])
        try:
            body = await _read_body(receive, headers, body_limit(scope["path"]))
            if body is None:
                return
            answer = await self._handle(scope, headers, body)
        except TooLarge as refusal:
            # The rest of the body is not worth reading.
            await send_answer(send, self._problem(refusal), close=True)
        except asyncio.CancelledError:
            # A server that stops waits for its requests, but not for ever.
            await send_answer(send, self._problem(Unavailable(_STOPPING)), close=True)
        else:
            await send_answer(send, answer)

    async def _handle(self, scope: Mapping[str, Any], headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        if self._fibers is not None and _FOR_FIBERS.fullmatch(f"{scope['method']} {scope['path']}"):
            async with self._rooms[scope["method"]]:
                return await self._fibers.run(self._answer, scope, headers, body)
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, scope, headers, body)

    def _answer(self, scope: Mapping[str, Any], headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        event = gateway_event(
            scope, body, headers, request_id=f"{self._prefix}-{next(self._numbers)}", now_ms=self._clock.now_ms()
        )
        authorization = headers.get("authorization")
        if authorization is not None:
            try:
                claims = self._authorizer.claims(authorization)
            except Refused as refusal:
                return self._problem(refusal)
            event["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
        return self._handler(event, None)

    def _problem(self, error: Refused | Unavailable) -> dict[str, Any]:
        response: Response[str] = problem_of(error, self._ids)
        return {"statusCode": response.status_code, "headers": response.headers, "body": response.body}


async def _read_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes | None:
    """Read the body; TooLarge as soon as it is known to be, None when the sender has gone."""
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"The body may have {limit} bytes.")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge(f"The body may have {limit} bytes.")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def send_answer(send: Send, answer: Mapping[str, Any], *, close: bool = False) -> None:
    """Send what a handler answered."""
    text = answer.get("body") or ""
    body = base64.b64decode(text) if answer.get("isBase64Encoded") else text.encode("utf-8")
    headers = [
        (name.lower().encode("latin-1"), str(value).encode("latin-1")) for name, value in answer["headers"].items()
    ]
    headers.append((b"content-length", str(len(body)).encode("ascii")))
    headers.extend((b"set-cookie", cookie.encode("latin-1")) for cookie in answer.get("cookies") or ())
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer["statusCode"], "headers": headers})
    await send({"type": "http.response.body", "body": body})
