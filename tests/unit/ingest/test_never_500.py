"""I8: no input makes a 500."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.door import Door
from ingest.parts import make_parts
from ingest.process import build_app
from shared.payments.charges import check_chargeable
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import make_event

CLAIMS = {"sub": "ann", "scope": "buy staff:read staff:write"}
# Text as JSON can carry it: every code point, lone surrogates included.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
NUMBERS = st.one_of(
    st.integers(), st.integers(min_value=10**300, max_value=10**310), st.floats(allow_nan=True, allow_infinity=True)
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner, max_size=4)),
    max_leaves=12,
)
QUANTITIES = st.one_of(st.integers(-5, 60), VALUES)
LINES = st.fixed_dictionaries(
    {}, optional={"ticket_type_id": st.one_of(st.just("standing"), VALUES), "quantity": QUANTITIES, "price": VALUES}
)
ORDERS = st.fixed_dictionaries(
    {},
    optional={
        "lines": st.one_of(st.lists(LINES, max_size=7), VALUES),
        "payment_method": VALUES,
        "holder": st.one_of(ANY_TEXT, VALUES),
        "extra": VALUES,
    },
)
TIMES = st.one_of(st.just("2027-03-01T10:00:00Z"), st.datetimes().map(lambda time: time.isoformat() + "+14:00"), VALUES)
SALES = st.fixed_dictionaries(
    {
        "event_id": st.one_of(st.text(string.ascii_lowercase, min_size=1, max_size=8), VALUES),
        "name": st.one_of(ANY_TEXT, VALUES),
        "currency": st.one_of(st.sampled_from(["EUR", "JPY", "KWD", "XAU", "ZZZ"]), VALUES),
        "opens_at": TIMES,
        "closes_at": TIMES,
        "pools": st.one_of(
            st.lists(st.fixed_dictionaries({"pool_id": st.just("p"), "capacity": QUANTITIES}), max_size=2), VALUES
        ),
        "ticket_types": st.one_of(
            st.lists(
                st.fixed_dictionaries(
                    {"ticket_type_id": st.just("t"), "name": ANY_TEXT, "pool_id": st.sampled_from(["p", "q"])},
                    optional={"price": st.one_of(st.decimals().map(str), VALUES), "price_minor": NUMBERS},
                ),
                max_size=2,
            ),
            VALUES,
        ),
    },
    optional={"shards": QUANTITIES, "max_per_order": QUANTITIES, "accept_per_s": QUANTITIES, "when_short": VALUES},
)
HEADER = st.text(st.characters(max_codepoint=255), max_size=300)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.one_of(st.just("application/json"), HEADER),
        "idempotency-key": st.one_of(st.text(string.printable, max_size=40), HEADER),
        "x-correlation-id": HEADER,
        "accept-encoding": HEADER,
        "origin": HEADER,
        "cookie": HEADER,
        "x-forwarded-for": st.just("a,b,,"),
    },
)
SEGMENTS = st.one_of(
    st.sampled_from(["v1", "events", "gig", "orders", "staff", "sales", "pause", "resume", "healthz", "1-" + "0" * 32]),
    ANY_TEXT,
)
PATHS = st.lists(SEGMENTS, max_size=6).map(lambda parts: "/" + "/".join(parts))
METHODS = st.sampled_from(["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"])


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """Return one door for all examples."""
    clock = FakeClock()
    store = SqliteStore(None, clock)
    sale = make_sale(accept_per_s=10_000_000)
    store.open_inventory(sale)
    store.create_sale(sale)
    parts = make_parts(
        store,
        clock,
        SeededIds(),
        processes=1,
        check_chargeable=check_chargeable,
        logger=Logger(service="never-500", level="CRITICAL"),
    )
    yield build_app(parts)
    store.close()


def _ask(door: Door, event: dict[str, Any]) -> None:
    answer = door(event, LambdaContext())

    assert answer["statusCode"] < 500, answer["body"]
    assert isinstance(answer["body"], str)
    assert all(isinstance(value, str) for value in answer["headers"].values())
    json.dumps(answer).encode("utf-8")
    answer["body"].encode("utf-8")
    if answer["statusCode"] >= 400:
        assert json.loads(answer["body"])["status"] == answer["statusCode"]


@given(body=ORDERS, headers=HEADERS)
@settings(max_examples=300)
def test_no_order_makes_a_500(door: Door, body: object, headers: dict[str, str]) -> None:
    """Any JSON with an order's members and any headers are answered."""
    headers = {"content-type": "application/json", **headers}
    _ask(door, make_event("POST", "/v1/events/gig/orders", body=json.dumps(body), headers=headers, claims=CLAIMS))


@given(body=SALES)
@settings(max_examples=300)
def test_no_definition_makes_a_500(door: Door, body: object) -> None:
    """Any JSON with a sale's members is answered."""
    _ask(door, make_event("POST", "/v1/staff/sales", body=json.dumps(body), headers={}, claims=CLAIMS))


@given(body=st.one_of(st.text(max_size=200), st.binary(max_size=200), VALUES.map(json.dumps)), headers=HEADERS)
@settings(max_examples=200)
def test_no_bytes_make_a_500(door: Door, body: str | bytes, headers: dict[str, str]) -> None:
    """Any text and any bytes are answered."""
    _ask(door, make_event("POST", "/v1/events/gig/orders", body=body, headers=headers, claims=CLAIMS))


@given(method=METHODS, path=PATHS, headers=HEADERS, body=st.none() | st.just("{}"))
@settings(max_examples=400)
def test_no_address_makes_a_500(door: Door, method: str, path: str, headers: dict[str, str], body: str | None) -> None:
    """Any method at any address is answered."""
    _ask(door, make_event(method, path, body=body, headers=headers, claims=CLAIMS))


@given(claims=st.one_of(st.none(), st.dictionaries(st.sampled_from(["sub", "scope", "exp"]), VALUES), VALUES))
@settings(max_examples=100)
def test_no_claims_make_a_500(door: Door, claims: Any) -> None:  # noqa: ANN401 - the gateway's word
    """Whatever an authorizer hands over is somebody or nobody."""
    order = '{"lines":[{"ticket_type_id":"standing","quantity":1}]}'
    for event in (
        make_event("GET", "/v1/events/gig/orders/1-" + "0" * 32),
        make_event("POST", "/v1/events/gig/orders", body=order, headers={"idempotency-key": "k"}),
    ):
        event["requestContext"]["authorizer"] = {"jwt": {"claims": claims}}
        _ask(door, event)


@pytest.mark.parametrize("subject", ["\ud800", "ann\udfff", "", "x" * 257])
def test_a_name_that_no_key_can_hold_is_nobody(door: Door, subject: str) -> None:
    """Half a character, nothing at all, and too much."""
    order = '{"lines":[{"ticket_type_id":"standing","quantity":1}]}'
    event = make_event(
        "POST",
        "/v1/events/gig/orders",
        body=order,
        headers={"idempotency-key": "k"},
        claims={"sub": subject, "scope": "buy"},
    )

    assert door(event, LambdaContext())["statusCode"] == 401
