"""Orders of a grown shard map: what leaves the line closes its older homes, or yields to what stands there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import Invalid, Moved
from shared.domain.order import Lane, Order, Reason, Status, hint_of
from shared.domain.order_id import home_of, older_homes
from shared.ports.changes import ChangeLog
from shared.ports.inventory import HoldOutcome
from shared.ports.orders import Saved
from shared.ports.store import Store
from shared.stores.limits import MAX_ACTIONS
from tests.builders import make_order
from tests.contract.steps import all_due, all_orders, batch_of, sale_of, stored
from tests.contract.test_change_log import all_changes

# The digest 22 moves from shard 2 to shard 6 to shard 22, the digest 2 stays on shard 2.
COUNTS = (4, 16)
MAPS = (4, 16, 64)


def moved(number: int = 22, counts: tuple[int, ...] = COUNTS) -> Order:
    """Make a queued order that is written under the newest map."""
    digest = number.to_bytes(16, "big")
    return replace(
        make_order(number, buyer=f"buyer-{number}"),
        key=home_of("gig", digest, counts),
        older_homes=older_homes("gig", digest, counts),
        op=f"accept-{number}",
    )


def stale(number: int = 22, version: int = 1) -> Order:
    """Make the same order as a door writes it that knows an older map."""
    return replace(moved(number, MAPS[:version]), op=f"stale-{number}")


def rejected(order: Order, op: str = "reject") -> Order:
    """End the order's waiting without seats."""
    return transitions.reject(order, op=op, now_ms=5_000, reason=Reason.SOLD_OUT)


def cancelled(order: Order, op: str = "cancel") -> Order:
    """End the order's waiting at its buyer's wish."""
    return transitions.cancel_queued(order, op=op, now_ms=5_000)


def held(store: Store, order: Order) -> bool:
    """Hold one order."""
    return store.hold_batch(batch_of([order], op=f"hold-{order.key.shard}")).held


EXITS: dict[str, Callable[[Store, Order], bool]] = {
    "held": held,
    "rejected": lambda store, order: store.save(rejected(order), seen_rev=order.rev).done,
    "cancelled": lambda store, order: store.save(cancelled(order), seen_rev=order.rev).done,
}


@pytest.fixture(params=EXITS)
def leave(request: pytest.FixtureRequest) -> Callable[[Store, Order], bool]:
    """Return one way out of the line."""
    return EXITS[request.param]


def test_older_homes_are_read_back_and_shown_by_the_index(store: Store) -> None:
    """A waiting order knows where an older map would have put it."""
    order = moved(22, MAPS)
    store.accept(order)

    assert len(order.older_homes) == 2
    assert stored(store, order) == order
    assert all_due(store, order.key.shard, Lane.LINE) == [hint_of(order)]


def test_a_moved_order_closes_its_older_home_as_it_leaves(store: Store, leave: Callable[[Store, Order], bool]) -> None:
    """Whatever the exit: a stale writer and a reader at the older home are told the newer one."""
    store.open_inventory(sale_of(10))
    order = moved()
    store.accept(order)

    assert leave(store, order)

    assert stored(store, order).older_homes == ()
    for ask in (lambda: store.accept(stale()), lambda: store.get_order(order.older_homes[0])):
        with pytest.raises(Moved) as moved_on:
            ask()
        assert moved_on.value.order_id == order.key.order_id


def test_a_moved_order_yields_to_what_stands_at_its_older_home(
    store: Store, leave: Callable[[Store, Order], bool]
) -> None:
    """Whatever the exit: it stays queued, and the other one's id is told."""
    sale = sale_of(10)
    store.open_inventory(sale)
    order, other = moved(), stale()
    store.accept(order)
    store.accept(other)

    assert not leave(store, order)

    assert stored(store, order) == order
    assert store.get_pool(sale, "floor").unsold == 10
    assert store.save(rejected(order), seen_rev=1) == Saved(None, done=False, superseded_by=other.key.order_id)
    assert store.hold_batch(batch_of([order])) == HoldOutcome(held=False, superseded={order.key: other.key.order_id})


def test_the_order_at_the_older_home_leaves_as_ever(store: Store, leave: Callable[[Store, Order], bool]) -> None:
    """It pays nothing for the newer copy, which yields afterwards, whatever became of it."""
    store.open_inventory(sale_of(10))
    order, other = moved(), stale()
    store.accept(order)
    store.accept(other)

    assert leave(store, other)
    assert not leave(store, order)
    assert store.save(cancelled(order, "again"), seen_rev=1).superseded_by == other.key.order_id


def test_a_superseded_order_closes_nothing(store: Store) -> None:
    """Another one stands for its key; the older home that is empty stays so."""
    order = moved(22, MAPS)
    other = stale(version=2)
    store.accept(order)
    store.accept(other)
    superseded = transitions.supersede(order, op="yield", now_ms=5_000, order_id=other.key.order_id)

    assert store.save(superseded, seen_rev=1) == Saved(superseded, done=True)
    assert stored(store, order) == superseded
    assert store.get_order(stale().key) is None
    assert all_due(store, order.key.shard, Lane.LINE) == []


def test_what_yielded_or_was_closed_leads_on(store: Store) -> None:
    """Three copies of one key: the newest is led to the oldest by the one between that yielded."""
    newest, between, oldest = moved(22, MAPS), stale(version=2), stale()
    for order in (newest, between, oldest):
        store.accept(order)
    yielded = transitions.supersede(between, op="yield", now_ms=5_000, order_id=oldest.key.order_id)
    store.save(yielded, seen_rev=1)

    assert store.save(rejected(newest), seen_rev=1).superseded_by == oldest.key.order_id


def test_a_tombstone_leads_to_the_copy_that_left_first(store: Store) -> None:
    """The newest copy meets the tombstone at the oldest home, or the copy itself: both name the same order."""
    newest, between = moved(22, MAPS), stale(version=2)
    store.accept(newest)
    store.accept(between)
    assert store.save(rejected(between, "first"), seen_rev=1).done

    assert store.save(rejected(newest), seen_rev=1).superseded_by == between.key.order_id


def test_a_repeated_exit_knows_its_own_tombstones(store: Store) -> None:
    """The very same operation counts as done, and so does the batch."""
    store.open_inventory(sale_of(10))
    first, second = moved(22), moved(7)
    store.accept(first)
    store.accept(second)

    for _ in range(2):
        saved = store.save(rejected(first), seen_rev=1)
        assert (saved.done, saved.superseded_by) == (True, None)
        assert store.hold_batch(batch_of([second])).held

    assert stored(store, second).rev == 2


def test_another_workers_exit_is_a_lost_race(store: Store) -> None:
    """The order left under another operation; its own tombstone is no other order."""
    store.open_inventory(sale_of(10))
    order = moved()
    store.accept(order)
    store.hold_batch(batch_of([order], op="first"))

    assert store.hold_batch(batch_of([order], op="second")).gone == frozenset({order.key})
    saved = store.save(rejected(order), seen_rev=1)
    assert (saved.done, saved.order and saved.order.status) == (False, Status.HELD)


def test_an_order_that_did_not_move_closes_nothing(store: Store, leave: Callable[[Store, Order], bool]) -> None:
    """It keeps its address under the grown map, and nothing else is written."""
    store.open_inventory(sale_of(10))
    order = moved(2)
    store.accept(order)

    assert (order.key, order.older_homes) == (stale(2).key, ())
    assert leave(store, order)
    assert all_orders(store, 2) == [stored(store, order)]


def test_tombstones_are_no_orders(store: Store) -> None:
    """They are neither listed nor counted nor due."""
    order = moved()
    store.accept(order)
    store.save(rejected(order), seen_rev=1)

    old_shard = order.older_homes[0].shard
    assert all_orders(store, old_shard) == []
    assert [store.depth("gig", old_shard, lane, most=10) for lane in Lane] == [0] * len(Lane)


def test_a_listing_goes_on_behind_tombstones(store: Store) -> None:
    """Pages that hold nothing but tombstones lead to the orders behind them."""
    for number in (6, 10, 14, 22):
        order = moved(number)
        store.accept(order)
        store.save(rejected(order, f"reject-{number}"), seen_rev=1)
    last = stale(34)
    store.accept(last)

    assert all_orders(store, 2, page=1) == [last]


def test_the_change_log_shows_a_tombstone_once(store: Store, log: ChangeLog) -> None:
    """It is a new item without a status or work, at the older home's key."""
    order = moved()
    store.accept(order)
    store.save(rejected(order), seen_rev=1)

    (record,) = all_changes(log)[order.older_homes[0].order_id]
    image = record["dynamodb"]["NewImage"]
    assert (record["eventName"], image["moved_to"]["S"]) == ("INSERT", order.key.order_id)
    assert not {"status", "work", "rev"} & image.keys()


def test_tombstones_count_as_actions(store: Store) -> None:
    """A batch of moved orders that no store would carry out is refused before it is tried."""
    store.open_inventory(sale_of(100))
    crowd = [order for order in (moved(number, MAPS) for number in range(64)) if len(order.older_homes) == 2]
    fits = MAX_ACTIONS // 3
    for order in crowd:
        store.accept(order)

    with pytest.raises(Invalid):
        store.hold_batch(batch_of(crowd[: fits + 1]))
    assert store.hold_batch(batch_of(crowd[:fits])).held
