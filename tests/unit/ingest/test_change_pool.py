"""S7: staff give a pool more or fewer seats and set seats aside, in a running sale."""

from __future__ import annotations

import pytest

from shared.domain.order import Order, hint_of
from shared.ports.inventory import HoldBatch
from shared.stores.faults import Fault, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order
from tests.unit.ingest.client import Client, Reply

POOL = "/v1/staff/sales/gig/pools/floor"


def seats(reply: Reply) -> tuple[int, int, int]:
    """Return (seats in all, withheld, to be sold) as an answer shows them."""
    pool = reply.json["pools"][0]
    return pool["capacity"], pool["withheld"], pool["unassigned"] + pool["unsold"]


def hold(store: SqliteStore, quantity: int) -> Order:
    """Hold seats for somebody."""
    order = make_order(1, quantity=quantity)
    store.accept(order)
    hint = hint_of(order)
    assert hint is not None
    batch = HoldBatch("gig", "hold", 20_000, 80_000, (hint,), {"floor": 0}, None)
    assert store.hold_batch(batch).held
    return order


def test_more_and_fewer_seats_are_shown_and_audited(staff: Client, inner: SqliteStore) -> None:
    """Counters and definition change together; a repeat changes nothing and is audited as well."""
    assert seats(staff.ask("POST", POOL, {"capacity": 12})) == (12, 0, 12)
    for _ in range(2):
        assert seats(staff.ask("POST", POOL, {"capacity": 8})) == (8, 0, 8)

    sale = inner.get_sale("gig").sale
    assert sale.pool("floor").capacity == inner.get_pool(sale, "floor").capacity == 8
    told = [(entry.action, entry.subject, entry.before, entry.after) for entry in inner.list_audit(limit=5)]
    assert ("change_capacity", "gig/floor", "10 seats, 0 withheld, 0 taken", "12 seats, 0 withheld, 0 taken") in told


def test_a_number_below_what_is_taken_is_refused_with_the_lowest_possible(staff: Client, inner: SqliteStore) -> None:
    """Held and withheld seats stay; the number that the answer names works."""
    hold(inner, 4)
    staff.ask("POST", POOL, {"withheld": 2})

    refused = staff.ask("POST", POOL, {"capacity": 5})

    assert (refused.status, refused.problem, refused.json["lowest"]) == (409, "below-taken", 6)
    assert seats(staff.ask("POST", POOL, {"capacity": 6})) == (6, 2, 0)


def test_seats_are_set_aside_and_released(staff: Client, inner: SqliteStore) -> None:
    """As many as nobody has; the highest number possible is named."""
    hold(inner, 4)

    assert seats(staff.ask("POST", POOL, {"withheld": 5})) == (10, 5, 1)
    refused = staff.ask("POST", POOL, {"withheld": 7})
    assert (refused.problem, refused.json["most"]) == ("above-unsold", 6)
    assert seats(staff.ask("POST", POOL, {"withheld": 0})) == (10, 0, 6)


@pytest.mark.parametrize(
    "body", [{}, {"capacity": 5, "withheld": 1}, {"capacity": 0}, {"withheld": -1}, {"capacity": "5"}, {"seats": 5}]
)
def test_what_is_no_figure_is_refused(staff: Client, body: object) -> None:
    """One figure, in its bounds, and nothing else."""
    assert staff.ask("POST", POOL, body).status == 422


def test_unknown_pools_and_people_are_refused(staff: Client, reader: Client) -> None:
    """There is no such pool, or no such right."""
    assert staff.ask("POST", "/v1/staff/sales/gig/pools/cellar", {"capacity": 5}).status == 404
    assert staff.ask("POST", "/v1/staff/sales/none/pools/floor", {"capacity": 5}).status == 404
    assert reader.ask("POST", POOL, {"capacity": 5}).status == 403


@pytest.mark.parametrize("script", [Script({("save_sale", 1): Fault.UNAVAILABLE})])
def test_a_change_that_was_left_half_done_is_finished_by_the_repeat(
    script: Schedule, staff: Client, inner: SqliteStore
) -> None:
    """The counters had changed, the definition had not."""
    assert staff.ask("POST", POOL, {"capacity": 12}).status == 503
    assert staff.ask("POST", POOL, {"capacity": 12}).status == 200

    assert inner.get_sale("gig").sale.pool("floor").capacity == 12


@pytest.mark.parametrize("script", [Script({("change_pool", 1): Fault.LOST_AFTER})])
def test_a_lost_answer_changes_seats_once(script: Schedule, staff: Client, inner: SqliteStore) -> None:
    """Whoever repeats sets the same figure."""
    staff.ask("POST", POOL, {"capacity": 12})

    assert seats(staff.ask("POST", POOL, {"capacity": 12})) == (12, 0, 12)


def test_a_party_may_be_as_large_as_the_grown_pool(staff: Client, ann: Client) -> None:
    """The door goes by the new capacity at once."""
    staff.ask("POST", POOL, {"capacity": 3})
    assert ann.order(4).problem == "over-capacity"

    staff.ask("POST", POOL, {"capacity": 4})
    assert ann.order(4).status == 202
