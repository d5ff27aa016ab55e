"""A buyer lists their own orders over all events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from ingest.door import Door
from ingest.parts import Parts
from ingest.process import build_app
from shared.domain.money import Money
from shared.domain.order import Status
from shared.ports.buyer_orders import BuyerOrder
from shared.stores.sqlite.buyer_orders import SqliteBuyerOrders
from tests.unit.ingest.client import Client


def make_copy(number: int, buyer: str = "ann", status: Status = Status.QUEUED) -> BuyerOrder:
    """Make a copy of order `number`."""
    return BuyerOrder(
        buyer_id=buyer,
        event_id="gig" if number % 2 else "ball",
        order_id=f"1-{number:032x}",
        status=status,
        reason=None,
        quantity=2,
        amount=Money(5_000, "EUR"),
        refunded_minor=0,
        accepted_at_ms=1_000 + number,
        updated_at_ms=2_000,
        rev=1,
    )


@pytest.fixture
def copies() -> Iterator[SqliteBuyerOrders]:
    """Return the copies, in memory."""
    store = SqliteBuyerOrders(None)
    yield store
    store.close()


@pytest.fixture
def door(parts: Parts, copies: SqliteBuyerOrders) -> Door:
    """Return a door that can read the copies."""
    return build_app(replace(parts, open_copies=lambda: copies))


def test_a_buyer_sees_their_own_orders_of_all_events(ann: Client, copies: SqliteBuyerOrders) -> None:
    """Newest first, with where each one's present state is; nobody else's."""
    copies.put([make_copy(1), make_copy(2), make_copy(3, buyer="bob")])
    copies.note_progress("a", 9_500)

    shown = ann.ask("GET", "/v1/orders").json

    assert [order["event_id"] for order in shown["orders"]] == ["ball", "gig"]
    assert shown["orders"][1]["href"] == f"/v1/events/gig/orders/1-{1:032x}"
    assert shown["age_s"] == 0.5
    assert "cursor" not in shown


def test_the_list_is_paged(ann: Client, copies: SqliteBuyerOrders) -> None:
    """Each order stands on one page."""
    copies.put([make_copy(number) for number in range(7)])
    ids: list[str] = []
    path = "/v1/orders?limit=3"
    for _ in range(5):
        shown = ann.ask("GET", path).json
        ids += [order["order_id"] for order in shown["orders"]]
        if "cursor" not in shown:
            break
        path = f"/v1/orders?limit=3&cursor={shown['cursor']}"

    assert ids == [f"1-{number:032x}" for number in reversed(range(7))]


def test_nothing_yet_is_an_empty_list_without_an_age(ann: Client) -> None:
    """Before the stream has brought anything."""
    assert ann.ask("GET", "/v1/orders").json == {"orders": []}


def test_a_superseded_order_is_left_out(ann: Client, copies: SqliteBuyerOrders) -> None:
    """The one that took its place stands in the list itself."""
    copies.put([make_copy(1, status=Status.SUPERSEDED), make_copy(3)])

    assert [order["order_id"] for order in ann.ask("GET", "/v1/orders").json["orders"]] == [f"1-{3:032x}"]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=", "cursor=x", "cursor=MSNnaWc"])
def test_a_bad_question_is_refused(ann: Client, query: str) -> None:
    """422 with the member's name, never 500."""
    reply = ann.ask("GET", f"/v1/orders?{query}")

    assert (reply.status, "field" in reply.json) == (422, True)


def test_a_buyers_token_is_needed(staff: Client) -> None:
    """Staff have no orders of their own to list."""
    assert staff.ask("GET", "/v1/orders").status == 403


def test_copies_that_do_not_answer_are_in_nobodys_way(parts: Parts) -> None:
    """The list answers 503 with a time; placing and reading an order go on."""
    ann = Client(build_app(parts), "ann", "buy")

    assert ann.ask("GET", "/v1/orders").status == 503
    assert ann.order().status == 202
