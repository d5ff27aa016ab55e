"""Orders over keep-alive connections, as light as Python can: what it takes itself, the measured process lacks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import count
from typing import cast

import uvloop

# What the numbers of the answers' first line say, and what ends their head.
_STATUS = slice(9, 12)
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length: "

MakeRequest = Callable[[int], bytes]


class Load:
    """What came of one run: accepted orders, other answers by status, and the milliseconds each accepted one took."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self.accepted_ms: list[float] = []
        self.others: dict[str, int] = {}
        self.seconds = 0.0

    def note(self, status: str, ms: float) -> None:
        """Count one answer."""
        if status == "202":
            self.accepted_ms.append(ms)
        else:
            self.others[status] = self.others.get(status, 0) + 1


class _Connection(asyncio.Protocol):
    """Sends the next request when the answer to the one before is complete, until told to stop."""

    def __init__(self, load: Load, make: MakeRequest, numbers: count[int]) -> None:
        self._load = load
        self._make = make
        self._numbers = numbers
        self._said = b""
        self._sent_s = 0.0
        self._transport: asyncio.Transport | None = None
        self.stopping = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports write, but are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._said += data
        head = self._said.find(_END_OF_HEAD)
        if head < 0:
            return
        at = self._said.lower().find(_LENGTH, 0, head) + len(_LENGTH)
        length = int(self._said[at : self._said.index(b"\r\n", at)])
        if len(self._said) < head + len(_END_OF_HEAD) + length:
            return
        self._load.note(self._said[_STATUS].decode(), (time.perf_counter() - self._sent_s) * 1000)
        self._said = b""
        if self.stopping and self._transport is not None:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, _: Exception | None) -> None:
        self.ended.set_result(None)

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        if self._transport is not None:
            self._transport.write(self._make(next(self._numbers)))


def run(port: int, make: MakeRequest, numbers: count[int], *, connections: int, seconds: float) -> Load:
    """Send requests to a port of this machine for some seconds, one after another on each connection."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(port, make, numbers, connections, seconds))


async def _run(port: int, make: MakeRequest, numbers: count[int], connections: int, seconds: float) -> Load:
    load = Load()
    loop = asyncio.get_running_loop()
    began_s = time.perf_counter()
    opened = [
        (await loop.create_connection(lambda: _Connection(load, make, numbers), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.sleep(seconds)
    for connection in opened:
        connection.stopping = True
    await asyncio.wait([connection.ended for connection in opened], timeout=10)
    load.seconds = time.perf_counter() - began_s
    return load
