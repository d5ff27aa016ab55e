"""What becomes of requests that outlast the server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any

import pytest

from infra.local import gateway as gateway_module
from infra.local.fibers import Fibers
from infra.local.gateway import Gateway
from tests.fakes.system import FakeClock, SeededIds


@pytest.mark.parametrize("how", ["fiber", "room", "thread", "body"])
def test_a_server_that_stops_tells_who_still_waits(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off by the server's end, it is told to come again, and by when: never a bare 500."""
    monkeypatch.setattr(gateway_module, "MAX_FIBERS", 0 if how == "room" else 1)
    fibers, release = Fibers(), threading.Event()

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
        if how == "fiber":
            fibers.gate().wait()
        else:
            release.wait(20)
        return {"statusCode": 200, "headers": {}, "body": ""}

    gateway = Gateway(
        handler,
        None,  # type: ignore[arg-type] # nobody shows a token
        clock=FakeClock(),
        ids=SeededIds(),
        threads=1,
        fibers=fibers,
    )
    path = "/v1/staff/sales" if how == "thread" else "/v1/events/gig/orders"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "http_version": "1.1", "headers": []}
    said: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        if how == "body":
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b""}

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    async def stop() -> None:
        task = asyncio.create_task(gateway(scope, receive, send))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        await task

    asyncio.run(asyncio.wait_for(stop(), 20))
    release.set()
    gateway.close()

    head, body = said
    headers = dict(head["headers"])
    assert head["status"] == 503
    assert int(headers[b"retry-after"]) >= 1
    assert headers[b"connection"] == b"close"
    assert json.loads(body["body"])["type"] == "urn:onsale:problem:unavailable"
