"""What the generator itself can do: the same client against a server that does nothing.

So many requests a second is the most that a stampede from this machine can show; generator and server share its cores
here as they do in a stampede against a local system.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from infra.load.client import Client
from infra.load.receipts import Kind

MEASURE_S = 0.7
IN_FLIGHT = 64
_ANSWER = (
    b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
    + b'{"order_id": "1-0"}'[:18]
)


class _Nothing(asyncio.Protocol):
    """Answers whatever comes with the same few bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back; uvloop's transport writes without being a `WriteTransport`."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer each request's end."""
        if data.endswith(b"}"):
            self._transport.write(_ANSWER)


def measure_capacity(processes: int) -> float:
    """Return requests per second of `processes` generators, each with its usual client."""
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port = mine.recv()
    try:
        with spawn.Pool(processes) as pool:
            return round(sum(pool.map(_press, [port] * processes)), 1)
    finally:
        server.terminate()
        server.join()


def _serve(told: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Nothing, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())


def _press(port: int) -> float:
    async def press() -> float:
        body = json.dumps({"lines": [{"ticket_type_id": "standing", "quantity": 2}]}).encode()
        count = 0
        async with Client(f"http://127.0.0.1:{port}") as client:
            began = time.perf_counter()

            async def one() -> None:
                nonlocal count
                while time.perf_counter() - began < MEASURE_S:
                    await client.send(Kind.PLACE, "POST", "/", token="t", body=body, key="k")  # noqa: S106
                    count += 1

            await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
            return count / (time.perf_counter() - began)

    return uvloop.run(press())
