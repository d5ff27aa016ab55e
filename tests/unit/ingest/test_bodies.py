"""The body as bytes: size, encoding, kind; and addresses as they may come."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.door import Door
from ingest.request_body import MAX_BODY_BYTES, MAX_STAFF_BODY_BYTES, with_plain_body
from shared.stores.faults import FaultyStore
from tests.unit.ingest.client import Client, make_event

ORDERS = "/v1/events/gig/orders"
GOOD = json.dumps({"lines": [{"ticket_type_id": "standing", "quantity": 1}]})


def test_a_body_ends_at_four_kibibytes(ann: Client) -> None:
    """R11: 4,096 bytes are read, one more is 413, as text and as base64."""
    fits = GOOD + " " * (MAX_BODY_BYTES - len(GOOD))

    assert ann.ask("POST", ORDERS, raw=fits).status == 202
    assert ann.ask("POST", ORDERS, raw=fits.encode()).status == 202
    assert ann.ask("POST", ORDERS, raw=fits + " ").problem == "body-too-large"
    assert ann.ask("POST", ORDERS, raw=(fits + " ").encode()).status == 413


def test_a_body_is_measured_in_bytes(ann: Client) -> None:
    """R11: 2,000 characters of three bytes each are too many."""
    assert ann.ask("POST", ORDERS, raw=json.dumps({"holder": "山" * 2_000}, ensure_ascii=False)).status == 413


def test_staff_may_send_more(staff: Client) -> None:
    """A definition with many types is read up to 64 KiB."""
    assert ann_size(staff, MAX_STAFF_BODY_BYTES) == 400
    assert ann_size(staff, MAX_STAFF_BODY_BYTES + 1) == 413


def ann_size(client: Client, size: int) -> int:
    """Send a staff body of `size` bytes that is no JSON, and return the status."""
    return client.ask("POST", "/v1/staff/sales", raw="x" * size).status


@pytest.mark.parametrize("name", ["山" * 100, "👩🏽‍🚀" * 25, "\u202eabc"])
def test_every_field_at_its_longest_is_taken(name: str, ann: Client) -> None:
    """R11: five lines with the longest fields fit, as do the longest key and name."""
    reply = ann.ask(
        "POST",
        ORDERS,
        {
            "lines": [{"ticket_type_id": "standing", "quantity": 2}] * 5,
            "payment_method": "p" * 128,
            "holder": name,
        },
        headers={"idempotency-key": "k" * 255},
    )

    assert reply.status == 202


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/xml",
        "APPLICATION/JSONX",
        "é",
    ],
)
def test_other_kinds_of_bodies_are_415(kind: str, ann: Client, store: FaultyStore) -> None:
    """Only JSON is read; a form that a foreign page might send is not."""
    reply = ann.ask("POST", ORDERS, raw=GOOD, headers={"content-type": kind})

    assert (reply.status, reply.problem) == (415, "unsupported-media-type")
    assert store.calls["accept"] == 0


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON", " application/json "]
)
def test_json_is_json_however_it_is_spelled(kind: str, ann: Client) -> None:
    """Media types are case-insensitive and may have parameters."""
    assert ann.ask("POST", ORDERS, raw=GOOD, headers={"content-type": kind}).status == 202


@pytest.mark.parametrize(
    "raw",
    [
        "{",
        "{]",
        "nul",
        "[1]",
        f"[{GOOD}]",
        "1",
        '"text"',
        "null",
        "[" * 2_000,
        "[" * 1_900 + "]" * 1_900,
        '{"a":' * 600 + "1" + "}" * 600,
        "{'lines':[]}",
        GOOD + "x",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        "\ufeff" + GOOD,
    ],
)
def test_what_is_no_json_object_is_refused(raw: str | bytes, ann: Client, store: FaultyStore) -> None:
    """Broken, deeply nested, foreign and bare values are 400 or 422, never more."""
    reply = ann.ask("POST", ORDERS, raw=raw)

    assert reply.status in {400, 422}
    assert reply.problem in {"malformed-json", "invalid"}
    assert store.calls["accept"] == 0


@pytest.mark.parametrize(
    "raw", ["", "{}", '{"lines":[]}', '{"lines":null}', '{"lines":{}}', '{"lines":[1]}', '{"lines":[null]}']
)
def test_an_empty_wish_is_422(raw: str, ann: Client) -> None:
    """What asks for nothing is told what is missing."""
    reply = ann.ask("POST", ORDERS, raw=raw)

    assert (reply.status, reply.problem) == (422, "invalid")
    assert reply.json["faults"]


def test_base64_that_is_none_is_400(ann: Client) -> None:
    """A gateway that lies about the encoding is answered, not obeyed."""
    for text in ("!!!!", "a", "YQ", "é"):
        event = make_event("POST", ORDERS, body="", claims={"sub": "ann", "scope": "buy"})
        event |= {"body": text, "isBase64Encoded": True}
        assert ann.door(event, LambdaContext())["statusCode"] in {400, 422}


def test_a_member_twice_counts_as_its_last(ann: Client) -> None:
    """JSON leaves it open; here the last one counts, for price and limit alike."""
    raw = '{"lines":[{"ticket_type_id":"standing","quantity":99,"quantity":2}]}'

    assert ann.ask("POST", ORDERS, raw=raw).json["lines"][0]["quantity"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "//",
        "/v1",
        "/v1/events",
        "/v1/events/",
        "/v1/events//orders",
        "/v1/events/gig/orders/",
        "/v1/events/gig/orders/1/2",
        "/v1/events/a/b",
        "/v1/events/../staff/sales",
        "/v1/events/gig/orders\n",
        "/v1/events/gig\x00",
        "/v1/events/🎸/orders",
        "/v1/events/" + "x" * 5_000,
        "/V1/EVENTS/gig",
        "/openapi.json/",
        "\ud800",
    ],
)
def test_an_address_that_is_none_is_404(path: str, ann: Client) -> None:
    """R13: whatever stands in the address, the answer is a problem."""
    reply = ann.ask("GET", path)

    assert reply.status in {404, 405}
    assert reply.problem in {"not-found", "method-not-allowed"}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "get", "", "BREW"])
def test_another_method_is_405_with_those_there_are(method: str, ann: Client) -> None:
    """The answer says what the address takes."""
    reply = ann.ask(method, "/v1/events/gig/orders/1-" + "0" * 32)

    if method == "get":
        assert reply.status == 404
    else:
        assert (reply.status, reply.headers["Allow"]) == (405, "DELETE, GET")


def test_a_correlation_id_is_echoed(ann: Client) -> None:
    """The caller's own id comes back; one that could do harm is replaced by the gateway's."""
    assert ann.ask("GET", "/healthz", headers={"x-correlation-id": "abc-1"}).headers["x-correlation-id"] == "abc-1"
    for bad in ("a b", "a\r\nb: c", "x" * 65, "é", ""):
        given = ann.ask("GET", "/nowhere", headers={"x-correlation-id": bad}).headers["x-correlation-id"]
        assert given.startswith("request-")


_NAMES = st.sampled_from(["lines", "payment_method", "holder", "ticket_type_id", "quantity", "x"])
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("standing")
_JSON = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3))
_LINES = st.lists(st.fixed_dictionaries({"ticket_type_id": _LEAVES, "quantity": _LEAVES}) | _JSON, max_size=6)
_ORDERS = st.fixed_dictionaries(
    {}, optional={"lines": _LINES, "payment_method": _LEAVES, "holder": _LEAVES, "x": _JSON}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.one_of(_ORDERS, _JSON).map(json.dumps) | st.text(max_size=20) | st.sampled_from(["", "{", GOOD + "x", "[]"]))
def test_a_body_is_judged_as_powertools_would(door: Door, text: str) -> None:
    """The routes of the rush read their bodies without its validation, and answer the same."""
    event = make_event("POST", ORDERS, body=text, claims={"sub": "ann", "scope": "buy"})
    ours, theirs = door.make_resolver(ORDERS), door.make_resolver(ORDERS)
    for route in theirs._static_routes + theirs._dynamic_routes:
        route.enable_validation = None

    answers = [app.resolve(with_plain_body(event), LambdaContext()) for app in (ours, theirs)]

    assert answers[0]["statusCode"] == answers[1]["statusCode"]
    if answers[0]["statusCode"] != HTTPStatus.ACCEPTED:
        assert answers[0] == answers[1]
