"""What the local server serves: pages, streams of frames, and everything else by the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from infra.local.gateway import Gateway, Receive, Send, send_answer
from infra.local.gateway_event import joined_headers
from infra.local.pages import Page, Pages
from infra.local.streams import Streams


class Front:
    """One process's ASGI application."""

    def __init__(self, gateway: Gateway) -> None:
        """Stand before `gateway`."""
        self._gateway = gateway
        self._pages = Pages()
        self._streams: Streams | None = None

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request (ASGI 3)."""
        page = self._pages.find(scope["path"]) if scope["method"] in {"GET", "HEAD"} else None
        if page is not None:
            await _send_page(page, scope, send)
            return
        if scope["method"] == "GET":
            headers = joined_headers(scope["headers"])
            # Made here, where the loop runs.
            self._streams = self._streams or Streams(self._gateway.ask, self._gateway.knows)
            if self._streams.wants(scope, headers):
                refused = await self._streams.serve(scope, headers, receive, send)
                if refused is not None:
                    await send_answer(send, refused)
                return
        await self._gateway(scope, receive, send)

    def end_streams(self) -> None:
        """End what would never end by itself; call it in the loop."""
        if self._streams is not None:
            self._streams.end()

    def close(self) -> None:
        """Return when the gateway's threads have ended."""
        self._gateway.close()


async def _send_page(page: Page, scope: Mapping[str, Any], send: Send) -> None:
    known = joined_headers(scope["headers"]).get("if-none-match") == page.etag
    body = b"" if known else page.body
    headers = [(name.lower().encode(), value.encode()) for name, value in page.headers.items()]
    if not known:
        headers.append((b"content-length", str(len(body)).encode()))
    status = HTTPStatus.NOT_MODIFIED if known else HTTPStatus.OK
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
