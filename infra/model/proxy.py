"""An HTTP endpoint that throttles as DynamoDB does, in front of any endpoint that does not.

`python -m infra.model.proxy --upstream http://127.0.0.1:4566` or `onsale throttle-proxy --upstream …`. Every
call of DynamoDB's API is charged to the partition model and answered by it when it does not pass; all else goes
through untouched. `GET /_truth` says what was answered, `DELETE /_truth` begins to count anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import uvloop
from aiohttp import ClientConnectionError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

from infra.model.limits import Assumptions, Limits
from infra.model.partition_model import PartitionModel
from infra.model.throttler import Passage, Throttler
from infra.model.truth import Truth

_TARGET = "X-Amz-Target"
_API = "DynamoDB_20120810."
_JSON = "application/x-amz-json-1.0"
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length"})
_OF_THE_BODY = frozenset({"x-amz-crc32", "content-encoding", "content-type"})
_LARGEST_BODY = 64 * 1024 * 1024  # a batch of 25 items of 400 KiB in JSON, and room
_CONNECTIONS = 512
_OK = 200


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """Where to listen, what to stand before, and how large the wall is.

    scale: 1 is DynamoDB's own size; 0.01 makes a partition of 10 writes a second.
    warm_write_units, warm_read_units: warm throughput of every on-demand table and index, before scaling.
    quota_units: table quota for writes and reads, before scaling; none: AWS's default.
    """

    upstream: str
    host: str = "127.0.0.1"
    port: int = 0
    scale: float = 1.0
    warm_write_units: float | None = None
    warm_read_units: float | None = None
    quota_units: float | None = None
    assumed: Assumptions = field(default_factory=Assumptions)

    def throttler(self) -> Throttler:
        """The gate these options ask for."""
        limits = Limits()
        if self.quota_units is not None:
            limits = replace(limits, table_quota_write_units=self.quota_units, table_quota_read_units=self.quota_units)
        return Throttler(
            PartitionModel(limits.scaled(self.scale), self.assumed),
            scale=self.scale,
            warm_write_units=self.warm_write_units,
            warm_read_units=self.warm_read_units,
        )


def monotonic_us() -> int:
    """Microseconds of this process's monotonic clock."""
    return time.monotonic_ns() // 1_000


class ThrottleProxy:
    """One gate before one endpoint. Everything that changes the gate runs without a pause in between."""

    def __init__(self, options: ProxyOptions, clock_us: Callable[[], int] = monotonic_us) -> None:
        self._options = options
        self._upstream = options.upstream.rstrip("/")
        self._clock_us = clock_us
        self._gate = options.throttler()
        self._session: ClientSession | None = None

    def app(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_get("/_truth", self._tell)
        app.router.add_delete("/_truth", self._begin_anew)
        app.router.add_route("*", "/{path:.*}", self._serve)
        app.cleanup_ctx.append(self._connect)
        return app

    async def _connect(self, _: web.Application) -> Any:  # noqa: ANN401 - aiohttp's own shape of a context
        self._session = ClientSession(
            connector=TCPConnector(limit=_CONNECTIONS),
            timeout=ClientTimeout(total=60),
            auto_decompress=False,
            cookie_jar=DummyCookieJar(),
        )
        yield
        await self._session.close()

    async def _tell(self, _: web.Request) -> web.Response:
        model = self._gate.model
        schemas = self._gate.schemas.values()
        resources = {arn for schema in schemas for arn in (schema.arn, *(index.arn for index in schema.indexes))}
        partitions = {resource: len(model.space(resource).partitions) for resource in sorted(resources)}
        return web.json_response({"scale": self._options.scale, **self._gate.truth.as_json(), "partitions": partitions})

    async def _begin_anew(self, _: web.Request) -> web.Response:
        self._gate.truth = Truth()
        return web.Response(status=204)

    async def _serve(self, request: web.Request) -> web.Response:
        raw = await request.read()
        target = request.headers.get(_TARGET, "")
        try:
            if not target.startswith(_API):
                status, headers, answer = await self._forward(request, request.headers, raw)
                return web.Response(status=status, headers=headers, body=answer)
            return await self._serve_call(request, target.removeprefix(_API), raw)
        except (ClientConnectionError, TimeoutError):
            said = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "No upstream."}
            return web.Response(status=503, body=json.dumps(said), headers={"Content-Type": _JSON})

    async def _serve_call(self, request: web.Request, operation: str, raw: bytes) -> web.Response:
        body = _parsed(raw)
        for table in self._gate.unknown_tables(operation, body):
            await self._describe(request, table)
        if self._gate.unknown_tables(operation, body):
            passage = Passage(operation, body)  # the endpoint knows no such table either, and says so
        else:
            passage = self._gate.admit(operation, body, self._clock_us())
        if passage.refusal is not None:
            return _refusal(passage.refusal)
        if passage.forward is not None:
            raw = json.dumps(passage.forward).encode()
        status, headers, answer = await self._forward(request, request.headers, raw)
        other = self._after(passage, status, answer)
        if other is not None:
            headers = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_BODY}
            headers["Content-Type"] = _JSON
            answer = json.dumps(other).encode()
        return web.Response(status=status, headers=headers, body=answer)

    def _after(self, passage: Passage, status: int, answer: bytes) -> dict[str, Any] | None:
        """Let the gate learn from an answer; parsed only when there is something to learn."""
        operation = passage.operation
        if status == _OK and operation in {"CreateTable", "DescribeTable"}:
            said = _parsed(answer)
            self._gate.learn(said.get("Table") or said["TableDescription"], self._clock_us())
        elif status == _OK and operation == "DeleteTable":
            self._gate.forget(passage.body["TableName"])
        elif status == _OK and operation == "UpdateTable":
            self._gate.outdate(passage.body["TableName"])
        elif passage.served:
            parse = status != _OK or passage.refused or operation in {"Query", "Scan"}
            return self._gate.settle(passage, status, _parsed(answer) if parse else {}, self._clock_us())
        return None

    async def _describe(self, request: web.Request, table: str) -> None:
        """Ask the endpoint about a table with the headers of the request at hand: emulators check no signature."""
        headers = {name: value for name, value in request.headers.items() if name.lower() != "content-length"}
        headers[_TARGET] = f"{_API}DescribeTable"
        status, _, answer = await self._forward(request, headers, json.dumps({"TableName": table}).encode())
        if status == _OK:
            self._gate.learn(_parsed(answer)["Table"], self._clock_us())

    async def _forward(
        self, request: web.Request, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if self._session is None:
            raise RuntimeError("The proxy serves only inside its application.")
        sent = {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}
        # A call is parsed here, so the endpoint must not compress its answer.
        sent["Accept-Encoding"] = "identity"
        async with self._session.request(
            request.method, self._upstream + request.path_qs, headers=sent, data=body, allow_redirects=False
        ) as answer:
            content = await answer.read()
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            return answer.status, kept, content


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _refusal(body: Mapping[str, Any]) -> web.Response:
    headers = {"Content-Type": _JSON, "x-amzn-RequestId": uuid.uuid4().hex.upper()}
    return web.Response(status=400, body=json.dumps(body), headers=headers)


def run(options: ProxyOptions, ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the address. `OSError` when it cannot listen there."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_until_told(options, ready))


async def _serve_until_told(options: ProxyOptions, ready: Callable[[str], None] | None) -> None:
    runner = web.AppRunner(ThrottleProxy(options).app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, options.host, options.port)
        await site.start()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        host, port = runner.addresses[0][:2]
        if ready is not None:
            ready(f"http://{host}:{port}")
        await stop.wait()
    finally:
        await runner.cleanup()


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m infra.model.proxy", description=__doc__)
    parser.add_argument("--upstream", required=True, help="address of a DynamoDB endpoint")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--warm-write-units", type=float)
    parser.add_argument("--warm-read-units", type=float)
    parser.add_argument("--quota-units", type=float)
    options = ProxyOptions(**vars(parser.parse_args(arguments)))

    def say(address: str) -> None:
        sys.stderr.write(f"DynamoDB's limits at {options.scale:g} of their size stand at {address}\n")
        sys.stderr.flush()
        # For programs: one line, when it listens.
        sys.stdout.write(json.dumps({"url": address, "port": int(address.rpartition(":")[2])}) + "\n")
        sys.stdout.flush()

    try:
        run(options, say)
    except OSError as error:
        sys.stderr.write(f"Cannot listen on {options.host}:{options.port} ({error.strerror}); name another --port.\n")
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
