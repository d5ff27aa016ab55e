"""An answer's head and body leave together; nothing is lost, and nothing changes places."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import closing
from typing import Any

import uvicorn

from infra.local.one_write import OneWrite, OneWriteProtocol
from tests.unit.infra.local.fibers_at_once import WITHIN_S

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class _Transport(asyncio.Transport):
    """Keeps what is written, until it is closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:  # noqa: ANN401 - as asyncio has it
        assert not self.closed
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_what_is_written_in_one_turn_leaves_together() -> None:
    """In its order; the next turn's is another piece."""
    inner = _Transport()

    async def write() -> None:
        transport = OneWrite(inner, asyncio.get_running_loop())
        for part in (b"a", b"b", b"c"):
            transport.write(part)
        assert inner.written == []
        await asyncio.sleep(0)
        transport.write(b"d")
        await asyncio.sleep(0)
        assert transport.get_extra_info("peername") == ("127.0.0.1", 1)

    asyncio.run(write())

    assert inner.written == [b"abc", b"d"]


def test_closing_comes_after_what_was_written() -> None:
    """And nothing is written to what is closed already, whoever closed it."""
    first, second = _Transport(), _Transport()

    async def write() -> None:
        one, other = (OneWrite(inner, asyncio.get_running_loop()) for inner in (first, second))
        one.write(b"last words")
        one.close()
        other.write(b"too late")
        second.closed = True
        await asyncio.sleep(0)

    asyncio.run(write())

    assert (first.written, first.closed, second.written) == ([b"last words"], True, [])


async def _app(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    await receive()
    body = scope["path"].encode() * 50_000
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["path"].encode())]})
    for at in range(0, len(body), 40_000):
        await send({"type": "http.response.body", "body": body[at : at + 40_000], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_answers_arrive_whole_over_a_real_connection() -> None:
    """Large ones in many pieces, one after another on one connection, the last one with its end."""
    server = uvicorn.Server(uvicorn.Config(_app, http=OneWriteProtocol, lifespan="off", log_level="warning"))

    async def ask(port: int) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            for path in ("/a", "/b"):
                writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            writer.write(b"GET /c HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return (await reader.read()).split(b"HTTP/1.1 200 OK\r\n")[1:]

    async def run(listener: socket.socket) -> list[bytes]:
        serving = asyncio.create_task(server.serve([listener]))
        answers = await ask(listener.getsockname()[1])
        server.should_exit = True
        await serving
        return answers

    with socket.create_server(("127.0.0.1", 0)) as listener:
        answers = asyncio.run(asyncio.wait_for(run(listener), WITHIN_S))

    for answer, path in zip(answers, (b"/a", b"/b", b"/c"), strict=True):
        head, _, chunks = answer.partition(b"\r\n\r\n")
        assert b"x-path: " + path in head
        assert _unchunked(chunks) == path * 50_000


def _unchunked(text: bytes) -> bytes:
    body = b""
    while text:
        size, _, rest = text.partition(b"\r\n")
        length = int(size, 16)
        body, text = body + rest[:length], rest[length + 2 :]
    return body
