"""Closing a connection without an answer, as a network does."""

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

EXTENSION = "payment_service.drop"


class DroppableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a way for the application to close the connection."""

    def on_message_begin(self) -> None:
        """Hand the way out to the request that begins."""
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope["extensions"] = {EXTENSION: self.transport.abort}


class Dropped(Response):
    """No answer at all: the client sees its connection close."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Close the connection and wait until the server has noticed."""
        scope["extensions"][EXTENSION]()
        async with asyncio.timeout(5):
            while (await receive())["type"] != "http.disconnect":
                pass
