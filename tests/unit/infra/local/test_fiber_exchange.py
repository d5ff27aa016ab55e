"""What fibers send to a server, and what they learn when it does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from infra.local.fiber_exchange import FiberExchange
from infra.local.fibers import Fibers
from shared.ports.exchange import HttpAnswer, HttpRequest, NeverSent, NoAnswer
from tests.unit.infra.local.fibers_at_once import WITHIN_S

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BODY = b'{"a":1}'


def request_to(port: int, *, read_timeout_s: float = WITHIN_S) -> HttpRequest:
    """Write a request as the SDK does."""
    headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Length": str(len(BODY))}
    return HttpRequest("POST", f"http://127.0.0.1:{port}/", headers, BODY, WITHIN_S, read_timeout_s)


def ask(fibers: Fibers, serve: Serve, *, times: int = 1, read_timeout_s: float = WITHIN_S) -> list[HttpAnswer | None]:
    """Ask a server that does as `serve` says, from one fiber after another, over one exchange."""
    exchange = FiberExchange(fibers)

    async def run() -> list[HttpAnswer | None]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        request = request_to(server.sockets[0].getsockname()[1], read_timeout_s=read_timeout_s)
        async with server:
            try:
                return [await fibers.run(exchange, request) for _ in range(times)]
            finally:
                await exchange.close()

    return asyncio.run(asyncio.wait_for(run(), WITHIN_S))


async def read(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one request's head and body."""
    return await reader.readuntil(b"\r\n\r\n"), await reader.readexactly(len(BODY))


def test_it_is_sent_as_it_was_signed_and_answered_as_it_came(fibers: Fibers) -> None:
    """No header is added that asks for another answer; the connection is used again."""
    heads: list[bytes] = []
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for _ in range(2):
            head, body = await read(reader)
            assert body == BODY
            heads.append(head.lower())
            writer.write(b"HTTP/1.1 400 Bad Request\r\nX-Amz-Crc32: 7\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    answers = ask(fibers, serve, times=2)

    for answer, head in zip(answers, heads, strict=True):
        assert answer is not None
        assert (answer.status, answer.body, answer.headers["X-Amz-Crc32"]) == (400, b"{}", "7")
        assert head.startswith(b"post / http/1.1\r\n")
        assert b"x-amz-target: dynamodb_20120810.putitem\r\n" in head
        assert head.count(b"content-length") == 1
        assert not [name for name in (b"accept", b"user-agent", b"cookie", b"chunked") if name in head]
    assert connections == 1


def test_who_has_a_thread_asks_by_itself(fibers: Fibers) -> None:
    """Nothing is sent for it."""
    assert FiberExchange(fibers)(request_to(9)) is None


def test_a_server_that_is_not_there_was_sent_nothing(fibers: Fibers) -> None:
    """The write cannot have been applied."""
    exchange = FiberExchange(fibers)

    async def run() -> None:
        listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        await listener.wait_closed()
        with pytest.raises(NeverSent):
            await fibers.run(exchange, request_to(port))
        await exchange.close()

    asyncio.run(asyncio.wait_for(run(), WITHIN_S))


def test_a_connection_that_ends_without_an_answer_says_nothing(fibers: Fibers) -> None:
    """The write may have been applied, also when only the body is missing."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.close()

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
        writer.close()

    async def talk_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.write(b"what?\r\n\r\n")
        writer.close()

    for serve in (hang_up, break_off, talk_nonsense):
        with pytest.raises(NoAnswer):
            ask(fibers, serve)


def test_a_server_that_says_nothing_is_not_waited_for_longer_than_asked(fibers: Fibers) -> None:
    """Without the bound this would never end."""

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        await reader.read()
        writer.close()

    with pytest.raises(NoAnswer):
        ask(fibers, stay_silent, read_timeout_s=0.05)


def test_a_loop_that_ends_answers_nobody(fibers: Fibers) -> None:
    """It cancels what waits in it, which then knows that it knows nothing."""
    exchange = FiberExchange(fibers)
    errors: list[Exception] = []

    async def run() -> None:
        asked = asyncio.Event()

        async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read(reader)
            asked.set()
            await reader.read()
            writer.close()

        def wait() -> None:
            try:
                exchange(request_to(server.sockets[0].getsockname()[1]))
            except NoAnswer as error:
                errors.append(error)

        server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
        waiting = asyncio.create_task(fibers.run(wait))
        await asked.wait()
        (asking,) = [task for task in asyncio.all_tasks() if "_ask" in repr(task.get_coro())]
        asking.cancel()
        await waiting
        await exchange.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), WITHIN_S))

    assert len(errors) == 1
