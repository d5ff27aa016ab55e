"""uvicorn's HTTP protocol, sending each answer as one piece.

uvicorn writes an answer's head and its body one after the other, and uvloop asks the system for each at once: a second
question for every request, and a second packet for whoever waits.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite:
    """A transport that hands on what was written in one turn of the loop together, in its order."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Write to `transport`, in the next turn of its `loop`."""
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Keep it for the next turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Close, after what was written."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a transport does
        return getattr(self._transport, name)

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class OneWriteProtocol(HttpToolsProtocol):
    """Speaks HTTP through such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Stand behind the transport."""
        super().connection_made(cast("asyncio.Transport", OneWrite(transport, self.loop)))
