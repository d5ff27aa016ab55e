"""What is taken, what is refused, and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from msgspec.structs import replace

from ingest.parts import Parts
from ingest.process import build_app
from shared.domain.order import Status
from shared.domain.order_id import locate_order
from shared.domain.sale import Pool, SaleStatus, TicketType
from shared.ports.control import Notice, PoolNotice, Word
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.items import order_item
from shared.stores.limits import USUAL_ORDER_BYTES, whole_item_bytes
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client, Reply, make_event
from tests.unit.ingest.conftest import MakeParts

HUGE = "1" + "0" * 400
QUANTITIES = ["0", "-1", "1.5", '"2"', "true", "null", "1e3", "NaN", "2147483648", "100000000000", HUGE]
ODD_NUMBERS = ["30.40", "NaN", "Infinity", "-Infinity", "1e400", "-0", "-0.0", "1" * 40]


def _raw(client: Client, quantity: str) -> Reply:
    body = f'{{"lines":[{{"ticket_type_id":"standing","quantity":{quantity}}}]}}'
    return client.ask("POST", "/v1/events/gig/orders", raw=body)


def _replace_sale(store: SqliteStore, **changes: Any) -> None:  # noqa: ANN401 - as `replace` takes them
    sale = store.get_sale("gig").sale
    assert store.save_sale(replace(sale, version=sale.version + 1, **changes), seen_version=sale.version)


def test_an_order_is_stored_and_answered_with_where_to_read_it(ann: Client, inner: SqliteStore) -> None:
    """A good order answers 202 with its location, price and status, and is stored as it was asked for."""
    reply = ann.order(2, holder="山田 花子", payment_method="pm_card_visa")

    assert reply.status == 202
    shown = reply.json
    assert reply.headers["Location"] == f"/v1/events/gig/orders/{shown['order_id']}"
    assert reply.headers["Cache-Control"] == "no-store"
    assert shown["amount"] == {"minor": 5000, "currency": "EUR", "text": "50.00 EUR"}
    assert (shown["status"], shown["holder"]) == ("queued", "山田 花子")
    order = inner.get_order(locate_order("gig", shown["order_id"], (4,)))
    assert order is not None
    assert (order.buyer_id, order.quantity, order.status) == ("ann", 2, Status.QUEUED)
    assert (order.payment.method, order.payment.attempt, order.accepted_at_ms) == ("pm_card_visa", 0, 10_000)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_quantity_is_a_whole_number_within_bounds(quantity: str, ann: Client, store: FaultyStore) -> None:
    """R1: anything else is 422 naming the field, and nothing is stored."""
    reply = _raw(ann, quantity)

    assert (reply.status, reply.problem, reply.json["field"]) == (422, "invalid", "lines.0.quantity")
    assert store.calls["accept"] == 0


def test_lines_cannot_make_up_for_each_other(ann: Client, store: FaultyStore) -> None:
    """R2: a negative line beside a positive one is 422."""
    lines = [{"ticket_type_id": "standing", "quantity": 3}, {"ticket_type_id": "standing", "quantity": -2}]
    reply = ann.ask("POST", "/v1/events/gig/orders", {"lines": lines})

    assert (reply.status, reply.json["field"]) == (422, "lines.1.quantity")
    assert store.calls["accept"] == 0


@pytest.mark.parametrize(("lines", "each"), [(20, 1), (6, 1), (5, 3)])
def test_lines_are_summed_over_a_ticket_type(lines: int, each: int, ann: Client, store: FaultyStore) -> None:
    """R3: many small lines are refused like one large one."""
    body = {"lines": [{"ticket_type_id": "standing", "quantity": each}] * lines}
    reply = ann.ask("POST", "/v1/events/gig/orders", body)

    assert (reply.status, reply.json["field"]) == (422, "lines")
    assert store.calls["accept"] == 0


@pytest.mark.parametrize(("quantity", "problem"), [(11, "over-order-limit"), (200, "invalid")])
def test_an_order_has_a_limit(quantity: int, problem: str, ann: Client, store: FaultyStore) -> None:
    """R4: more than the sale's limit per order is 422."""
    reply = ann.order(quantity)

    assert (reply.status, reply.problem) == (422, problem)
    assert reply.json["field"].startswith("lines")
    assert store.calls["accept"] == 0


def test_ticket_types_share_their_pool(ann: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """R5: 3 + 3 of two types over one pool of 5 is refused whole."""
    _replace_sale(
        inner,
        pools=(Pool("floor", 5),),
        ticket_types=(
            TicketType("standing", "Standing", "floor", 2_500),
            TicketType("early", "Early bird", "floor", 2_000),
        ),
    )
    lines = [{"ticket_type_id": "standing", "quantity": 3}, {"ticket_type_id": "early", "quantity": 3}]
    reply = ann.ask("POST", "/v1/events/gig/orders", {"lines": lines})

    assert (reply.status, reply.problem, reply.json["field"]) == (422, "over-capacity", "lines")
    assert store.calls["accept"] == 0


@pytest.mark.parametrize("where", ["line", "body"])
@pytest.mark.parametrize("member", ["price", "price_minor", "amount", "currency"])
def test_a_price_in_the_request_counts_for_nothing(where: str, member: str, ann: Client, store: FaultyStore) -> None:
    """R6: the sale's price counts; a member that names another is 422."""
    line: dict[str, object] = {"ticket_type_id": "standing", "quantity": 1}
    body: dict[str, object] = {"lines": [line]}
    (line if where == "line" else body)[member] = "0.01"
    reply = ann.ask("POST", "/v1/events/gig/orders", body)

    assert reply.status == 422
    assert reply.json["field"].endswith(member)
    assert store.calls["accept"] == 0


def test_a_free_ticket_is_ordered_like_any_other(ann: Client, inner: SqliteStore) -> None:
    """R8: free and mixed orders are taken at the sum of the sale's prices."""
    free = TicketType("child", "Child", "floor", 0)
    _replace_sale(inner, ticket_types=(*make_sale().ticket_types, free))
    lines = [{"ticket_type_id": "child", "quantity": 2}, {"ticket_type_id": "standing", "quantity": 1}]

    mixed = ann.ask("POST", "/v1/events/gig/orders", {"lines": lines})
    alone = ann.ask("POST", "/v1/events/gig/orders", {"lines": lines[:1]})

    assert (mixed.status, mixed.json["amount"]["minor"]) == (202, 2500)
    assert (alone.status, alone.json["amount"]["text"]) == (202, "0.00 EUR")


@pytest.mark.parametrize("number", ODD_NUMBERS)
@pytest.mark.parametrize(
    "body",
    [
        '{{"lines":[{{"ticket_type_id":"standing","quantity":{0}}}]}}',
        '{{"lines":[{{"ticket_type_id":{0},"quantity":1}}]}}',
        '{{"lines":{0}}}',
        '{{"lines":[{{"ticket_type_id":"standing","quantity":1}}],"holder":{0}}}',
        '{{"lines":[{{"ticket_type_id":"standing","quantity":1}}],"extra":{0}}}',
        '{{"lines":[{{"ticket_type_id":"standing","quantity":1,"extra":[{0}]}}]}}',
    ],
)
def test_an_odd_number_is_422_wherever_it_stands(number: str, body: str, ann: Client, store: FaultyStore) -> None:
    """R9: no number is rounded into something acceptable, and none makes a 500."""
    reply = ann.ask("POST", "/v1/events/gig/orders", raw=body.format(number))

    assert reply.status == 422
    assert store.calls["accept"] == 0


@pytest.mark.parametrize(
    "name", ["山田", "Дмитрий", "👩‍👩‍👧‍👦", "أحمد بن سعيد", "Zoe\u0308 A\u030a\u0323", "O'Neil", "x" * 100]
)
def test_a_holder_has_any_human_name(name: str, ann: Client) -> None:
    """R10: names of every script come back as they were sent."""
    placed = ann.order(holder=name)

    assert placed.status == 202
    assert ann.ask("GET", placed.headers["Location"]).json["holder"] == name


@pytest.mark.parametrize("name", ["", " \t", "a\x00b", "a\nb", "a\x1bb", "\x85", "x" * 101, "\ud800", "a\udfffb"])
def test_a_name_that_breaks_lists_is_refused(name: str, ann: Client, store: FaultyStore) -> None:
    """R10: blank, control characters, lone surrogates and 101 characters are 422 naming the field."""
    reply = ann.order(holder=name)

    assert (reply.status, reply.json["field"]) == (422, "holder")
    assert store.calls["accept"] == 0


def test_a_usual_order_costs_one_write_unit(parts: Parts, ann: Client, inner: SqliteStore) -> None:
    """R11: with a key, a card, a name and two ticket types the stored item is at most 1,024 bytes."""
    _replace_sale(
        inner,
        event_id="gig",
        ticket_types=(
            TicketType("standing-early-bird", "Standing", "floor", 12_500),
            TicketType("seat-block-a-reduced", "Seat", "floor", 99_900),
        ),
    )
    parts.sales.forget("gig")
    buyer = Client(ann.door, "auth0|65a1b2c3d4e5f60718293a4b", "buy")
    lines = [
        {"ticket_type_id": "standing-early-bird", "quantity": 2},
        {"ticket_type_id": "seat-block-a-reduced", "quantity": 2},
    ]
    reply = buyer.ask(
        "POST",
        "/v1/events/gig/orders",
        {"lines": lines, "payment_method": "pm_1PQRsTUvWxYz0123456789Ab", "holder": "Дмитрий Достоевский"},
        headers={"idempotency-key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"'},
    )

    order = inner.get_order(locate_order("gig", reply.json["order_id"], (4,)))
    assert order is not None
    assert whole_item_bytes(order_item(order)) <= USUAL_ORDER_BYTES


@pytest.mark.parametrize(
    ("at_ms", "problem"), [(999, "not-on-sale-yet"), (1_000, None), (1_999, None), (2_000, "closed")]
)
def test_opening_is_inclusive_and_closing_exclusive(
    at_ms: int, problem: str | None, ann: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """R12: the first millisecond of the sale counts, its last instant does not."""
    _replace_sale(inner, opens_at_ms=1_000, closes_at_ms=2_000)
    clock.at_ms = at_ms

    reply = ann.order()

    assert reply.status == (202 if problem is None else 409)
    if problem is not None:
        assert reply.problem == problem


def test_before_the_opening_the_answer_names_it(ann: Client, inner: SqliteStore) -> None:
    """An early order is told when the sale opens."""
    _replace_sale(inner, opens_at_ms=60_000)

    assert ann.order().json["opens_at"] == "1970-01-01T00:01:00.000Z"


@pytest.mark.parametrize(
    ("status", "problem"),
    [(SaleStatus.PAUSED, "paused"), (SaleStatus.CLOSED, "closed"), (SaleStatus.CANCELLED, "cancelled")],
)
def test_what_staff_decided_is_the_answer(status: SaleStatus, problem: str, ann: Client, inner: SqliteStore) -> None:
    """A sale that takes no orders says why."""
    _replace_sale(inner, status=status)

    reply = ann.order()

    assert (reply.status, reply.problem) == (409, problem)


@pytest.mark.parametrize(
    "event_id",
    ["nowhere", "GIG", "gig#1", "gig%23", "gig's", 'gig"', "gig\u200d", "🎸", "x" * 300, "size", "select", "gig ", "-"],
)
def test_an_event_that_cannot_be_is_not_found(event_id: str, ann: Client, store: FaultyStore) -> None:
    """R13: odd ids are 404, and what no event can be called never reaches the store."""
    reply = ann.order(event_id=event_id)

    assert (reply.status, reply.problem) == (404, "not-found")
    assert store.calls["get_sale"] == (1 if event_id in {"nowhere", "size", "select"} else 0)


def test_an_unknown_ticket_type_names_the_field(ann: Client) -> None:
    """A type that the sale has not is 422 at its line."""
    reply = ann.ask("POST", "/v1/events/gig/orders", {"lines": [{"ticket_type_id": "balcony", "quantity": 1}]})

    assert (reply.status, reply.problem) == (422, "unknown-ticket-type")
    assert reply.json["field"] == "lines.0.ticket_type_id"


def test_more_than_a_buyer_may_ever_have_is_refused_at_once(ann: Client, inner: SqliteStore) -> None:
    """An order that alone is over the per-buyer limit could never be served."""
    _replace_sale(inner, max_per_buyer=2)

    assert ann.order(2).status == 202
    assert ann.order(3).problem == "over-buyer-limit"


def _notice(*, sold_out: bool, round_no: int) -> Notice:
    word = Word.GONE if sold_out else Word.AVAILABLE
    return Notice(10_000, {"floor": PoolNotice(word, round_no, sold_out)}, 0, None, None, 0.0)


def test_sold_out_is_said_at_the_door(ann: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """Once the workers have published it, an order is refused without a write."""
    inner.publish("gig", _notice(sold_out=True, round_no=1))

    reply = ann.order()

    assert (reply.status, reply.problem) == (409, "sold-out")
    assert store.calls["accept"] == 0


def test_an_order_carries_the_round_it_was_taken_in(ann: Client, inner: SqliteStore) -> None:
    """The pool's round travels with the demand; without a notice it is 0."""
    before = ann.order().json["order_id"]
    inner.publish("gig", _notice(sold_out=False, round_no=3))
    ann.door._parts.sales.forget("gig")
    after = ann.order().json["order_id"]

    rounds = []
    for order_id in (before, after):
        order = inner.get_order(locate_order("gig", order_id, (4,)))
        assert order is not None
        rounds.append([want.round for want in order.demand])
    assert rounds == [[0], [3]]


@pytest.mark.parametrize(
    "script", [Script({("accept", 1): Fault.THROTTLED}), Script({("accept", 1): Fault.UNAVAILABLE})]
)
def test_a_store_that_cannot_take_it_is_503(script: Schedule, ann: Client) -> None:
    """A throttled or silent store is not a failure of the request: 503, with the time to try again."""
    reply = ann.order(key="a")

    assert reply.status == 503
    assert int(reply.headers["Retry-After"]) >= reply.json["retry_after_s"] > 0
    assert ann.order(key="a").status == 202


def test_a_body_speaks_for_nobody_without_a_token(ann: Client, store: FaultyStore) -> None:
    """Without the scope `buy` nothing is taken."""
    reader = Client(ann.door, "ann", "staff:read")

    assert (reader.order().status, reader.order().problem) == (403, "not-allowed")
    assert store.calls["accept"] == 0


@pytest.mark.parametrize("claims", [None, {}, {"sub": ""}, {"sub": "x" * 257, "scope": "buy"}, {"scope": "buy"}])
def test_whoever_is_nobody_is_not_let_in(claims: dict[str, str] | None, ann: Client) -> None:
    """Without a usable subject the answer is 401 and says which scheme is expected."""
    body = json.dumps({"lines": [{"ticket_type_id": "standing", "quantity": 1}]})
    answer = ann.door(make_event("POST", "/v1/events/gig/orders", body=body, claims=claims), LambdaContext())

    assert answer["statusCode"] == 401
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("raw", ["{", '{"lines":1}', ""])
def test_strangers_are_not_told_what_is_wrong_with_their_body(raw: str, ann: Client) -> None:
    """Who may not order is turned away before the body is looked at."""
    sent = {"content-type": "application/json"}
    stranger = ann.door(make_event("POST", "/v1/events/gig/orders", body=raw, headers=sent), LambdaContext())
    reader = Client(ann.door, "ann", "staff:read").ask("POST", "/v1/events/gig/orders", raw=raw)

    assert (stranger["statusCode"], reader.status) == (401, 403)
    assert ann.ask("POST", "/v1/staff/sales", raw=raw).status == 403


def test_two_processes_store_the_same_order_once(
    inner: SqliteStore, store: FaultyStore, ann: Client, parts_over: MakeParts
) -> None:
    """The order of a key is the same whatever process a request meets."""
    other = Client(build_app(parts_over(inner, seed=7)), "ann", "buy")

    assert ann.order(key="a").json["order_id"] == other.order(key="a").json["order_id"]
