"""Seats that move: back from orders, between pool and slices, and to the end of a round."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import NotFound
from shared.domain.inventory import PoolState
from shared.domain.order import Order
from shared.domain.pool_change import PoolChange, to_capacity, to_withheld
from shared.domain.sale import Pool
from shared.ports.orders import Saved
from shared.ports.store import Store
from tests.builders import make_order, make_sale
from tests.contract.kinds import StoreKind
from tests.contract.steps import batch_of, expired, queue, sale_of, stored

TWO_SLICES = sale_of(20, slices=2)


def held_order(store: Store, *, quantity: int = 2, max_per_buyer: int | None = None) -> Order:
    """Hold one order of a fresh sale of 20 seats in two slices, from slice 1."""
    store.open_inventory(TWO_SLICES)
    order = queue(store, 1, quantity=quantity)[0]
    assert store.hold_batch(batch_of([order], slice_no=1, max_per_buyer=max_per_buyer)).held
    return stored(store, order)


def counts(store: Store, pool_id: str = "floor") -> tuple[int, list[int], list[int], int]:
    """Read (unassigned, unsold per slice, taken per slice, withheld) of the sale in two slices."""
    pool = store.get_pool(TWO_SLICES, pool_id)
    assert pool.balanced
    return pool.unassigned, [p.unsold for p in pool.slices], [p.taken for p in pool.slices], pool.withheld


def test_a_new_pool_stands_as_its_sale_says(store: Store) -> None:
    """Half of a sliced pool is shared by its slices."""
    store.open_inventory(TWO_SLICES)

    pool = store.get_pool(TWO_SLICES, "floor")
    assert counts(store) == (10, [5, 5], [0, 0], 0)
    assert (pool.capacity, pool.round, pool.sold_out) == (20, 0, False)


def test_opening_again_leaves_what_stands(store: Store) -> None:
    """Seats already held stay held; a pool that is new is added."""
    held_order(store)

    store.open_inventory(make_sale(pools=(Pool("floor", 20, 2), Pool("seats", 3))))

    assert counts(store) == (10, [5, 3], [0, 2], 0)
    assert store.get_pool(make_sale(pools=(Pool("seats", 3),)), "seats").unsold == 3


def test_a_pool_that_was_never_opened_is_not_found(store: Store) -> None:
    """Reading it says so."""
    with pytest.raises(NotFound):
        store.get_pool(TWO_SLICES, "floor")


def test_released_seats_go_back_to_their_slice_once(store: Store) -> None:
    """The order is written and its seats are for sale again; repeating it changes nothing."""
    held = held_order(store)
    over = expired(held)

    for _ in range(2):
        assert store.release(over, seen_rev=held.rev, withhold=False, max_per_buyer=None) == Saved(over, done=True)

    assert counts(store) == (10, [5, 5], [0, 0], 0)
    assert stored(store, held) == over


def test_withheld_seats_leave_the_sale(store: Store) -> None:
    """They are counted with the pool and with no slice."""
    held = held_order(store)

    store.release(expired(held), seen_rev=held.rev, withhold=True, max_per_buyer=None)

    assert counts(store) == (10, [5, 3], [0, 0], 2)


def test_a_release_that_loses_the_race_gives_nothing_back(store: Store) -> None:
    """The other's version is returned and the seats stay taken."""
    held = held_order(store)
    noted = transitions.look_now(held, op="op-2", now_ms=21_000)
    store.save(noted, seen_rev=held.rev)

    answer = store.release(expired(held), seen_rev=held.rev, withhold=False, max_per_buyer=None)

    assert answer == Saved(noted, done=False)
    assert counts(store) == (10, [5, 3], [0, 2], 0)


def test_releasing_what_was_never_accepted_gives_nothing_back(store: Store) -> None:
    """The answer has no order."""
    store.open_inventory(TWO_SLICES)
    orders = queue(store, 1)
    ghost = expired(transitions.hold(orders[0], op="op", now_ms=1, hold_ends_at_ms=2, slices={"floor": 0}))
    ghost = replace(ghost, key=make_order(9).key)

    assert store.release(ghost, seen_rev=2, withhold=False, max_per_buyer=None) == Saved(None, done=False)
    assert counts(store) == (10, [5, 5], [0, 0], 0)


def test_a_release_lowers_the_buyers_counter_once(store: Store) -> None:
    """It ends where it began, and never below."""
    held = held_order(store, max_per_buyer=4)
    assert store.buyer_counts("gig", [held.buyer_id]) == {held.buyer_id: 2}

    for _ in range(2):
        store.release(expired(held), seen_rev=held.rev, withhold=False, max_per_buyer=4)

    assert store.buyer_counts("gig", [held.buyer_id]).get(held.buyer_id, 0) == 0


def test_unassigned_seats_are_drawn_into_a_slice(store: Store) -> None:
    """They can all be had, and not one more."""
    store.open_inventory(TWO_SLICES)

    assert store.draw("gig", "floor", 0, 7, op="op-1")
    assert counts(store) == (3, [12, 5], [0, 0], 0)
    assert not store.draw("gig", "floor", 1, 4, op="op-2")
    assert store.draw("gig", "floor", 1, 3, op="op-3")
    assert counts(store) == (0, [12, 8], [0, 0], 0)


def test_unsold_seats_are_given_back_to_the_pool(store: Store) -> None:
    """As many as the slice has unsold, and not one more."""
    store.open_inventory(TWO_SLICES)

    assert not store.give_back("gig", "floor", 0, 6, op="op-1")
    assert store.give_back("gig", "floor", 0, 5, op="op-2")
    assert counts(store) == (15, [0, 5], [0, 0], 0)


def test_a_repeated_move_counts_once_though_others_moved_meanwhile(store: Store, kind: StoreKind) -> None:
    """A draw and a return are known by their `op`."""
    if not kind.remembers_moves:
        pytest.skip("this emulator forgets client tokens")
    store.open_inventory(TWO_SLICES)
    store.draw("gig", "floor", 0, 2, op="op-1")
    store.give_back("gig", "floor", 0, 1, op="op-2")
    store.draw("gig", "floor", 1, 1, op="op-3")

    assert store.draw("gig", "floor", 0, 2, op="op-1")
    assert store.give_back("gig", "floor", 0, 1, op="op-2")
    assert counts(store) == (8, [6, 6], [0, 0], 0)


def test_every_move_raises_the_versions_of_both_sides(store: Store) -> None:
    """Whoever reads a version before and after sees that something moved."""
    store.open_inventory(TWO_SLICES)
    before = store.get_pool(TWO_SLICES, "floor")
    store.draw("gig", "floor", 0, 1, op="op-1")
    after = store.get_pool(TWO_SLICES, "floor")

    assert after.version > before.version
    assert [a.version > b.version for a, b in zip(after.slices, before.slices, strict=True)] == [True, False]


def test_a_pool_with_seats_left_is_not_sold_out(store: Store) -> None:
    """Neither unassigned nor unsold seats may be left."""
    store.open_inventory(TWO_SLICES)
    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-1")

    store.draw("gig", "floor", 0, 10, op="op-2")
    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-3")
    assert store.get_pool(TWO_SLICES, "floor").round == 0


def sell_out(store: Store) -> Order:
    """Hold every seat of the sale in two slices with two orders; return one of them."""
    held = held_order(store, quantity=5)
    store.draw("gig", "floor", 1, 10, op="draw")
    rest = queue(store, 3, quantity=5)[1:]
    assert store.hold_batch(batch_of(rest, op="hold-2", slice_no=1)).held
    last = queue(store, 4, quantity=5)[3]
    assert store.hold_batch(batch_of([last], op="hold-3", slice_no=0)).held
    assert store.get_pool(TWO_SLICES, "floor").left == 0
    return held


def test_the_sold_out_decision_is_taken_once_a_round(store: Store) -> None:
    """It raises the round; a second one, and one that saw an older round, change nothing."""
    sell_out(store)

    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=1, op="op-0")
    assert store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-1")
    assert store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-1")
    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-2")
    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=1, op="op-3")

    pool = store.get_pool(TWO_SLICES, "floor")
    assert (pool.round, pool.sold_out) == (1, True)


def test_a_sold_out_pool_is_reopened_in_its_round(store: Store) -> None:
    """The mark goes, the round stays, and the next decision is the next round."""
    held = sell_out(store)
    store.decide_sold_out(TWO_SLICES, "floor", seen_round=0, op="op-1")
    store.release(expired(held), seen_rev=held.rev, withhold=False, max_per_buyer=None)

    assert not store.reopen_pool("gig", "floor", seen_round=0, op="op-2")
    assert store.reopen_pool("gig", "floor", seen_round=1, op="op-3")
    assert store.reopen_pool("gig", "floor", seen_round=1, op="op-3")
    assert not store.reopen_pool("gig", "floor", seen_round=1, op="op-4")

    pool = store.get_pool(TWO_SLICES, "floor")
    assert (pool.round, pool.sold_out, pool.unsold) == (1, False, 5)
    assert not store.decide_sold_out(TWO_SLICES, "floor", seen_round=1, op="op-5")


def test_counters_of_a_hundred_buyers_are_read_at_once(store: Store) -> None:
    """Those without a counter are absent."""
    assert store.buyer_counts("gig", [f"buyer-{number}" for number in range(100)]) == {}
    assert store.buyer_counts("gig", []) == {}


def change(store: Store, decide: Callable[[PoolState], PoolChange | None], *, op: str) -> bool:
    """Carry out what `decide` makes of the pool as it is now."""
    wanted = decide(store.get_pool(TWO_SLICES, "floor"))
    assert wanted is not None
    return store.change_pool("gig", "floor", wanted, op=op)


def test_more_seats_are_nobodys_yet(store: Store) -> None:
    """They wait in the pool for whoever's line comes first, once for each operation."""
    store.open_inventory(TWO_SLICES)
    more = to_capacity(store.get_pool(TWO_SLICES, "floor"), 27)
    assert more is not None

    assert store.change_pool("gig", "floor", more, op="more")

    assert counts(store) == (17, [5, 5], [0, 0], 0)
    assert store.get_pool(TWO_SLICES, "floor").capacity == 27


def test_a_repeated_change_counts_once(store: Store, kind: StoreKind) -> None:
    """The same operation is recognised; another one meets figures that are no longer those it saw."""
    store.open_inventory(TWO_SLICES)
    more = to_capacity(store.get_pool(TWO_SLICES, "floor"), 27)
    assert more is not None
    assert store.change_pool("gig", "floor", more, op="more")

    assert store.change_pool("gig", "floor", more, op="more") or not kind.remembers_moves
    assert not store.change_pool("gig", "floor", more, op="other")
    assert store.get_pool(TWO_SLICES, "floor").capacity == 27


def test_fewer_seats_recall_what_nobody_has(store: Store) -> None:
    """The pool's own go first, then those of the fullest slices; held ones stay."""
    held_order(store)

    assert change(store, lambda pool: to_capacity(pool, 7), op="fewer")

    pool = store.get_pool(TWO_SLICES, "floor")
    assert (pool.capacity, pool.unassigned, pool.unsold, pool.taken, pool.balanced) == (7, 0, 5, 2, True)
    assert change(store, lambda pool: to_capacity(pool, 2), op="fewest")
    assert counts(store) == (0, [0, 0], [0, 2], 0)


def test_a_change_that_comes_too_late_changes_nothing(store: Store) -> None:
    """Seats held meanwhile, or other figures of the pool, and all of it stays as it was."""
    store.open_inventory(TWO_SLICES)
    seen = store.get_pool(TWO_SLICES, "floor")
    none, fewer, aside = to_capacity(seen, 1), to_capacity(seen, 19), to_withheld(seen, 3)
    assert none is not None
    assert fewer is not None
    assert aside is not None
    order = queue(store, 1, quantity=2)[0]
    assert store.hold_batch(batch_of([order], slice_no=1)).held

    assert not store.change_pool("gig", "floor", none, op="none")
    assert counts(store) == (10, [5, 3], [0, 2], 0)
    assert store.change_pool("gig", "floor", aside, op="aside")
    assert not store.change_pool("gig", "floor", fewer, op="fewer")
    assert counts(store) == (7, [5, 3], [0, 2], 3)


def test_seats_are_set_aside_and_released(store: Store) -> None:
    """Withheld seats cannot be drawn; released ones can."""
    store.open_inventory(TWO_SLICES)

    assert change(store, lambda pool: to_withheld(pool, 12), op="aside")
    assert counts(store)[3] == 12
    assert not store.draw("gig", "floor", 0, 1, op="draw-1")
    assert change(store, lambda pool: to_withheld(pool, 4), op="release")
    assert counts(store)[0] == 8
    assert store.draw("gig", "floor", 0, 8, op="draw-2")
