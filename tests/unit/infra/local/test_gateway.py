"""API Gateway's part: what becomes of a request before and after the handler."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra.local import gateway as gateway_module
from infra.local.fibers import Fibers
from infra.local.gateway import Gateway, Handler
from infra.local.gateway_event import gateway_event, joined_headers
from ingest.errors import NotAuthenticated
from shared.ports.system import Gate
from tests.fakes.system import FakeClock, SeededIds

Pairs = list[tuple[bytes, bytes]]


class _Authorizer:
    """Knows one token."""

    def claims(self, authorization: str) -> dict[str, str]:
        if authorization != "Bearer good":
            raise NotAuthenticated
        return {"sub": "ann"}


@dataclass
class _Handler:
    """Remembers events and answers."""

    events: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] = field(
        default_factory=lambda: {"statusCode": 200, "headers": {"Content-Type": "text/plain"}, "body": "hé"}
    )
    gate: threading.Event | None = None
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
        self.events.append(dict(event))
        self.arrived.release()
        if self.gate is not None:
            assert self.gate.wait(20)
        return self.answer


@pytest.fixture
def handler() -> _Handler:
    """Return the handler."""
    return _Handler()


@pytest.fixture
def gateway(handler: _Handler) -> Iterable[Gateway]:
    """Return a gateway of two threads in front of it."""
    gateway = Gateway(
        handler,
        _Authorizer(),  # type: ignore[arg-type] # one method is all it needs
        clock=FakeClock(),
        ids=SeededIds(),
        threads=2,
    )
    yield gateway
    gateway.close()


def _scope(path: str = "/v1/events/gig", method: str = "GET", headers: Pairs | None = None, query: bytes = b"") -> Any:  # noqa: ANN401 - ASGI's
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "http_version": "1.1",
        "client": ("203.0.113.1", 1),
        "headers": headers or [],
    }


async def _ask(gateway: Gateway, scope: Mapping[str, Any], *parts: bytes) -> tuple[int, dict[str, str], bytes]:
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append({"type": "http.request", "body": b""})
    incoming = iter(messages)
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return next(incoming)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await gateway(scope, receive, send)
    head, body = sent
    return head["status"], {name.decode(): value.decode("latin-1") for name, value in head["headers"]}, body["body"]


def test_a_request_becomes_an_event(gateway: Gateway, handler: _Handler) -> None:
    """Method, path, query, headers, cookies and body stand where payload format 2.0 has them."""
    headers = [(b"host", b"onsale.test"), (b"x-a", b"1"), (b"x-a", b"2"), (b"cookie", b"a=1; b=2"), (b"cookie", b"c=3")]

    status, sent, body = asyncio.run(_ask(gateway, _scope("/p q", "POST", headers, b"a=1&a=2&b=%20"), b'{"x"', b":1}"))

    assert (status, body) == (200, "hé".encode())
    assert sent["content-length"] == "3"
    (event,) = handler.events
    assert (event["version"], event["routeKey"], event["rawPath"]) == ("2.0", "$default", "/p q")
    assert (event["rawQueryString"], event["queryStringParameters"]) == ("a=1&a=2&b=%20", {"a": "1,2", "b": " "})
    assert event["headers"] == {"host": "onsale.test", "x-a": "1,2"}
    assert event["cookies"] == ["a=1", "b=2", "c=3"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"x":1}', False)
    http = event["requestContext"]["http"]
    assert (http["method"], http["path"], http["sourceIp"]) == ("POST", "/p q", "203.0.113.1")
    assert event["requestContext"]["timeEpoch"] == 10_000
    assert event["requestContext"]["time"] == "01/Jan/1970:00:00:10 +0000"
    assert "authorizer" not in event["requestContext"]


def test_bytes_that_are_no_text_come_as_base64(gateway: Gateway, handler: _Handler) -> None:
    """As from the real gateway."""
    asyncio.run(_ask(gateway, _scope(method="POST"), b"\xff\xfe"))

    assert (handler.events[0]["body"], handler.events[0]["isBase64Encoded"]) == ("//4=", True)


def test_every_request_has_an_id_of_its_own(gateway: Gateway, handler: _Handler) -> None:
    """Ids do not repeat within a process."""
    for _ in range(3):
        asyncio.run(_ask(gateway, _scope()))

    assert len({event["requestContext"]["requestId"] for event in handler.events}) == 3


def test_a_good_token_becomes_claims(gateway: Gateway, handler: _Handler) -> None:
    """Where the JWT authorizer puts them."""
    asyncio.run(_ask(gateway, _scope(headers=[(b"authorization", b"Bearer good")])))

    assert handler.events[0]["requestContext"]["authorizer"] == {"jwt": {"claims": {"sub": "ann"}, "scopes": None}}


@pytest.mark.parametrize("token", [b"Bearer bad", b"", b"\xff"])
def test_a_bad_token_does_not_get_through(token: bytes, gateway: Gateway, handler: _Handler) -> None:
    """401 as a problem, also where no token was needed; the handler is not called."""
    status, headers, body = asyncio.run(_ask(gateway, _scope(headers=[(b"authorization", token)])))

    assert (status, headers["content-type"]) == (401, "application/problem+json")
    assert headers["www-authenticate"] == "Bearer"
    assert b"not-authenticated" in body
    assert handler.events == []


def test_nobody_can_claim_without_a_token(gateway: Gateway, handler: _Handler) -> None:
    """Headers that look like an authorizer's work are only headers."""
    asyncio.run(_ask(gateway, _scope(headers=[(b"requestcontext", b'{"authorizer":{}}')])))

    assert "authorizer" not in handler.events[0]["requestContext"]


@pytest.mark.parametrize("declared", [True, False])
def test_too_large_a_body_is_not_read_to_its_end(declared: bool, gateway: Gateway, handler: _Handler) -> None:
    """413 as soon as it is known, by the declared length or by what has come, and the connection ends."""
    headers = [(b"content-length", b"1000000")] if declared else []
    parts = [b"x" * 1_000] * (0 if declared else 1_000)

    status, sent, body = asyncio.run(_ask(gateway, _scope(method="POST", headers=headers), *parts))

    assert (status, sent["connection"]) == (413, "close")
    assert b"body-too-large" in body
    assert handler.events == []


def test_a_sender_who_went_away_is_forgotten(gateway: Gateway, handler: _Handler) -> None:
    """Half a request is no request."""
    sent: list[object] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    asyncio.run(gateway(_scope(method="POST"), receive, send))

    assert sent == []
    assert handler.events == []


def test_requests_do_not_wait_for_each_other(gateway: Gateway, handler: _Handler) -> None:
    """Both are inside the handler at the same time."""
    handler.gate = threading.Event()

    async def both() -> list[tuple[int, dict[str, str], bytes]]:
        asked = [asyncio.create_task(_ask(gateway, _scope())) for _ in range(2)]
        for _ in asked:
            assert await asyncio.to_thread(handler.arrived.acquire, timeout=20)
        assert handler.gate is not None
        handler.gate.set()
        return await asyncio.gather(*asked)

    assert [status for status, _, _ in asyncio.run(both())] == [200, 200]


def test_beyond_its_bound_the_gateway_says_so(
    gateway: Gateway, handler: _Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 with a time to come back, at once, while the others are still served."""
    monkeypatch.setattr(gateway_module, "MAX_IN_FLIGHT", 2)
    handler.gate = threading.Event()

    async def crowd() -> tuple[tuple[int, dict[str, str], bytes], list[tuple[int, dict[str, str], bytes]]]:
        asked = [asyncio.create_task(_ask(gateway, _scope())) for _ in range(2)]
        for _ in asked:
            assert await asyncio.to_thread(handler.arrived.acquire, timeout=20)
        refused = await _ask(gateway, _scope())
        assert handler.gate is not None
        handler.gate.set()
        return refused, await asyncio.gather(*asked)

    refused, served = asyncio.run(crowd())

    assert refused[0] == 503
    assert int(refused[1]["retry-after"]) >= 1
    assert [status for status, _, _ in served] == [200, 200]
    assert asyncio.run(_ask(gateway, _scope()))[0] == 200


def test_cookies_and_binary_answers_are_sent(gateway: Gateway, handler: _Handler) -> None:
    """What a handler may answer in payload format 2.0."""
    handler.answer = {
        "statusCode": 201,
        "headers": {"X-B": "2"},
        "cookies": ["a=1", "b=2"],
        "body": "//4=",
        "isBase64Encoded": True,
    }

    status, headers, body = asyncio.run(_ask(gateway, _scope()))

    assert (status, body, headers["x-b"]) == (201, b"\xff\xfe", "2")
    assert headers["set-cookie"] == "b=2"


def test_headers_are_joined_as_the_gateway_does() -> None:
    """Commas between values, semicolons between cookies."""
    raw = [(b"a", b"1"), (b"a", b"2"), (b"cookie", b"x=1"), (b"cookie", b"y=2"), (b"b", b"\xe9")]

    assert joined_headers(raw) == {"a": "1,2", "cookie": "x=1; y=2", "b": "é"}


def test_an_empty_request_is_an_event_too() -> None:
    """No query, no cookies, no body: the members are absent, as in the real event."""
    event = gateway_event({**_scope(), "client": None}, b"", {}, request_id="r", now_ms=0)

    assert not {"body", "cookies", "queryStringParameters"} & event.keys()
    assert event["requestContext"]["http"]["sourceIp"] == ""


def _gateway(handler: Handler, fibers: Fibers) -> Gateway:
    return Gateway(
        handler,
        _Authorizer(),  # type: ignore[arg-type] # one method is all it needs
        clock=FakeClock(),
        ids=SeededIds(),
        threads=1,
        fibers=fibers,
    )


class _Threads:
    """A handler that tells on which thread it ran."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
        self.seen.append(threading.get_ident())
        return {"statusCode": 200, "headers": {}, "body": event["rawPath"]}


@pytest.mark.parametrize(
    ("method", "path", "by_fiber"),
    [
        ("POST", "/v1/events/gig/orders", True),
        ("GET", "/v1/events/gig/orders/1-ab", True),
        ("DELETE", "/v1/events/gig/orders/1-ab", False),
        ("POST", "/v1/events/gig/orders/1-ab/refund", False),
        ("GET", "/v1/orders", False),
        ("GET", "/v1/events/gig/queue", False),
    ],
)
def test_what_buyers_come_for_is_answered_by_fibers(method: str, path: str, by_fiber: bool) -> None:
    """On the loop's own thread, which nothing else may hold up: all other routes have threads."""
    handler, fibers = _Threads(), Fibers()
    gateway = _gateway(handler, fibers)

    assert asyncio.run(_ask(gateway, _scope(path, method)))[::2] == (200, path.encode())
    assert (handler.seen == [threading.get_ident()]) is by_fiber
    gateway.close()


def test_more_requests_than_fibers_wait_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many are begun at a time, all are answered."""
    monkeypatch.setattr(gateway_module, "MAX_FIBERS", 3)
    fibers = Fibers()
    running, most = 0, 0

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
        nonlocal running, most
        running += 1
        most = max(most, running)
        fibers.sleep(0)
        running -= 1
        return {"statusCode": 200, "headers": {}, "body": ""}

    gateway = _gateway(handler, fibers)

    async def ask_all() -> list[int]:
        asked = (_ask(gateway, _scope("/v1/events/gig/orders", "POST")) for _ in range(20))
        return [status for status, _, _ in await asyncio.gather(*asked)]

    assert asyncio.run(ask_all()) == [200] * 20
    assert most == 3
    gateway.close()


def test_who_only_looks_does_not_wait_for_those_who_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders that stand before a slow disk leave room for reads."""
    monkeypatch.setattr(gateway_module, "MAX_FIBERS", 2)
    fibers = Fibers()
    gates: list[Gate] = []

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
        if event["requestContext"]["http"]["method"] == "POST":
            gates.append(fibers.gate())
            gates[-1].wait()
        return {"statusCode": 200, "headers": {}, "body": ""}

    gateway = _gateway(handler, fibers)

    async def look_behind_writers() -> int:
        writers = [asyncio.create_task(_ask(gateway, _scope("/v1/events/gig/orders", "POST"))) for _ in range(4)]
        await asyncio.sleep(0)
        status, _, _ = await asyncio.wait_for(_ask(gateway, _scope("/v1/events/gig/orders/1-ab")), 20)
        while not all(writer.done() for writer in writers):
            for gate in gates:
                gate.open()
            gates.clear()
            await asyncio.sleep(0)
        return status

    assert asyncio.run(look_behind_writers()) == 200
    gateway.close()
