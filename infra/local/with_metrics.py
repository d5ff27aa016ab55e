"""`GET /metrics` before the gateway: operators' own, so it never goes through the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from infra.local.metrics_page import CONTENT_TYPE

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]

PATH = "/metrics"


class WithMetrics:
    """Answers GET and HEAD on /metrics with `page()`, made on a thread; everything else goes on to `app`."""

    def __init__(self, app: App, page: Callable[[], str]) -> None:
        """Stand before `app`."""
        self._app = app
        self._page = page

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["path"] != PATH or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        body = (await asyncio.to_thread(self._page)).encode("utf-8")
        headers = [
            (b"content-type", CONTENT_TYPE.encode("ascii")),
            (b"content-length", str(len(body)).encode("ascii")),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
