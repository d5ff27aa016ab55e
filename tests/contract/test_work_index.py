"""The work index: lanes in the order of time, page by page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from shared.domain import handing_out, transitions
from shared.domain.order import Duty, Lane, Reason
from shared.domain.taken import Stage
from shared.domain.times import MAX_TIME_MS
from shared.ports.store import Store
from tests.builders import make_order
from tests.contract.kinds import StoreKind
from tests.contract.steps import all_due, all_orders, batch_of, hint, order_on, sale_of


def test_the_line_shows_what_a_worker_needs(store: Store) -> None:
    """A queued order stands in the lane `line` with its inputs."""
    order = make_order(4)
    store.accept(order)

    assert all_due(store, 0, Lane.LINE) == [hint(order)]
    assert all_due(store, 1, Lane.LINE) == []
    assert all_due(store, 0, Lane.TIMER) == []


@pytest.mark.parametrize(
    "times",
    [(9, 10, 99, 100), (1_000, 1_001, 1_999, 2_000, 2_001), (0, 1, MAX_TIME_MS)],
    ids=["Q9 digits", "seconds beside fractions", "ends"],
)
def test_the_line_is_in_order_of_time(store: Store, times: tuple[int, ...]) -> None:
    """Q9: earlier comes first whatever the number of digits and the order of arrival."""
    for at_ms in reversed(times):
        store.accept(order_on(0, f"order-{at_ms}", at_ms=at_ms))

    assert [found.at_ms for found in all_due(store, 0, Lane.LINE, until_ms=MAX_TIME_MS)] == list(times)


def test_what_is_due_later_does_not_show(store: Store) -> None:
    """`until_ms` itself is included, the millisecond after is not."""
    for at_ms in (100, 101, 102):
        store.accept(order_on(0, f"order-{at_ms}", at_ms=at_ms))

    assert [found.at_ms for found in all_due(store, 0, Lane.LINE, until_ms=101)] == [100, 101]


def test_a_thousand_equal_times_page_without_loss(store: Store, kind: StoreKind) -> None:
    """Q5: each order comes once, ties in the order of ids, whatever the page's size."""
    ids = [f"order-{number:04d}" for number in range(1_000)]
    with ThreadPoolExecutor(16 if kind.parallel else 1) as pool:
        list(pool.map(lambda order_id: store.accept(order_on(0, order_id, at_ms=5_000)), ids))

    assert [found.key.order_id for found in all_due(store, 0, Lane.LINE, page=150)] == ids


def test_a_cursor_goes_on_behind_its_place_when_work_has_gone(store: Store) -> None:
    """An entry that a cursor rests on may be finished meanwhile; nothing behind it is skipped."""
    orders = [order_on(0, f"order-{number}", at_ms=number) for number in range(6)]
    for order in orders:
        store.accept(order)
    page = store.due("gig", 0, Lane.LINE, until_ms=10, limit=3)
    seen = list(page.hints)
    for order in orders[:3]:
        store.save(transitions.cancel_queued(order, op="op-1", now_ms=20), seen_rev=1)

    while page.cursor is not None:
        page = store.due("gig", 0, Lane.LINE, until_ms=10, limit=3, cursor=page.cursor)
        seen += page.hints

    assert [found.at_ms for found in seen] == [0, 1, 2, 3, 4, 5]


def test_finished_work_leaves_the_index(store: Store) -> None:
    """An order without a duty stands in no lane."""
    order = make_order(4)
    store.accept(order)
    store.save(transitions.reject(order, op="op-1", now_ms=3_000, reason=Reason.SOLD_OUT), seen_rev=1)

    assert [all_due(store, 0, lane) for lane in Lane] == [[]] * len(Lane)


def test_a_delayed_order_comes_back_to_its_own_old_place(store: Store) -> None:
    """It waits under its timer, and then stands before those who came later."""
    early, late = order_on(0, "early", at_ms=1), order_on(0, "late", at_ms=2)
    store.accept(early)
    store.accept(late)

    delayed = transitions.fail(early, {Duty.REJOIN: 9_000}, op="op-1", now_ms=5, error="It broke.")
    store.save(delayed, seen_rev=1)
    assert [found.key.order_id for found in all_due(store, 0, Lane.LINE)] == ["late"]
    assert [found.at_ms for found in all_due(store, 0, Lane.TIMER)] == [9_000]

    store.save(transitions.rejoin(delayed, op="op-2", now_ms=9_000), seen_rev=2)
    assert [found.key.order_id for found in all_due(store, 0, Lane.LINE)] == ["early", "late"]


def test_a_parked_order_stands_in_its_own_lane(store: Store) -> None:
    """It leaves the line and waits for a person."""
    order = make_order(4)
    store.accept(order)
    store.save(transitions.park(order, op="op-1", now_ms=7_000, error="no"), seen_rev=1)

    assert [found.at_ms for found in all_due(store, 0, Lane.PARKED)] == [7_000]
    assert all_due(store, 0, Lane.LINE) == []


def test_an_order_in_a_programs_hands_stands_in_a_lane_of_its_own(store: Store) -> None:
    """Confirmed for fulfilment it waits there from the start, and once taken from the end of its hiding."""
    order = make_order(4)
    store.accept(order)
    held = transitions.hold(order, op="op-1", now_ms=5_000, hold_ends_at_ms=65_000, slices={"floor": 0})
    store.save(held, seen_rev=1)
    ready = transitions.confirm(held, held.payment, op="op-2", now_ms=6_000, tickets=("code",), fulfilment=True)
    store.save(ready, seen_rev=2)
    assert [found.at_ms for found in all_due(store, 0, Lane.FULFIL)] == [6_000]

    taken = handing_out.take(ready, Stage.FULFILMENT, op="op-3", now_ms=7_000, until_ms=17_000)
    store.save(taken, seen_rev=3)
    assert [found.at_ms for found in all_due(store, 0, Lane.FULFIL)] == [17_000]
    assert all_due(store, 0, Lane.TIMER) == []


def test_a_held_order_is_due_at_its_earliest_duty(store: Store) -> None:
    """Its payment comes first, and the projected inputs are those of the order."""
    store.open_inventory(sale_of(10))
    order = make_order(4)
    store.accept(order)
    store.hold_batch(batch_of([order]))

    expected = replace(hint(order), lane=Lane.TIMER, at_ms=20_000)
    assert all_due(store, 0, Lane.TIMER) == [expected]


def test_depth_counts_a_lane_up_to_a_bound(store: Store) -> None:
    """More than the bound is told as the bound."""
    for number in range(5):
        store.accept(order_on(0, f"order-{number}"))

    assert store.depth("gig", 0, Lane.LINE, most=100) == 5
    assert store.depth("gig", 0, Lane.LINE, most=3) == 3
    assert store.depth("gig", 0, Lane.TIMER, most=3) == 0
    assert store.depth("gig", 1, Lane.LINE, most=3) == 0


def test_all_orders_of_a_shard_are_listed_by_id(store: Store) -> None:
    """Finished ones among them; other shards and other events stay out."""
    orders = [order_on(0, f"order-{number}") for number in range(7)]
    for order in [*reversed(orders), order_on(1, "elsewhere"), order_on(0, "other", event_id="gig2")]:
        store.accept(order)
    done = transitions.cancel_queued(orders[3], op="op-1", now_ms=3_000)
    store.save(done, seen_rev=1)

    assert all_orders(store, 0, page=3) == [*orders[:3], done, *orders[4:]]
