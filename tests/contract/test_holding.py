"""The allocating transaction: all of a batch or nothing, and a verdict for every condition."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import Invalid
from shared.domain.order import Demand, Order, Status
from shared.domain.sale import Pool
from shared.ports.inventory import HoldOutcome
from shared.ports.store import Store
from shared.stores.limits import MAX_BATCH
from tests.builders import make_order, make_sale
from tests.contract.kinds import StoreKind
from tests.contract.steps import batch_of, queue, sale_of, stored


def test_a_batch_is_held_as_the_domain_would_hold_it(store: Store) -> None:
    """Each stored order is what the transition makes of it, and the slice went down by the sum."""
    sale = sale_of(10)
    store.open_inventory(sale)
    orders = queue(store, 3, quantity=2)

    assert store.hold_batch(batch_of(orders)) == HoldOutcome(held=True)

    for order in orders:
        assert stored(store, order) == transitions.hold(
            order, op="hold-1", now_ms=20_000, hold_ends_at_ms=80_000, slices={"floor": 0}
        )
    pool = store.get_pool(sale, "floor")
    assert (pool.slices[0].unsold, pool.slices[0].taken) == (4, 6)
    assert pool.balanced


def test_a_parked_order_in_line_is_held_as_well(store: Store) -> None:
    """A late hint may show it; holding takes it up again."""
    store.open_inventory(sale_of(10))
    order = queue(store, 1)[0]
    parked = transitions.park(order, op="op-1", now_ms=3_000, error="no")
    store.save(parked, seen_rev=1)

    assert store.hold_batch(batch_of([order])).held
    assert stored(store, order) == transitions.hold(
        parked, op="hold-1", now_ms=20_000, hold_ends_at_ms=80_000, slices={"floor": 0}
    )


def test_an_order_that_is_gone_stops_the_batch(store: Store) -> None:
    """The cancelled and the unknown are named; the others stay queued and the seats unsold."""
    sale = sale_of(10)
    store.open_inventory(sale)
    orders = queue(store, 3)
    store.save(transitions.cancel_queued(orders[1], op="op-1", now_ms=3_000), seen_rev=1)
    unknown = make_order(99, buyer="nobody")

    outcome = store.hold_batch(batch_of([*orders, unknown]))

    assert outcome == HoldOutcome(held=False, gone=frozenset({orders[1].key, unknown.key}))
    assert stored(store, orders[0]) == orders[0]
    assert store.get_pool(sale, "floor").unsold == 10


def test_a_short_slice_stops_the_batch(store: Store) -> None:
    """The pool is named, though another slice has seats."""
    sale = sale_of(8, slices=2)
    store.open_inventory(sale)
    orders = queue(store, 3)

    assert store.hold_batch(batch_of(orders)) == HoldOutcome(held=False, short=frozenset({"floor"}))
    assert store.get_pool(sale, "floor").taken == 0
    assert store.hold_batch(batch_of(orders[:2])).held


def test_the_last_seat_can_be_held(store: Store) -> None:
    """A batch may take a slice down to nothing, and not below."""
    store.open_inventory(sale_of(3))
    orders = queue(store, 4)

    assert store.hold_batch(batch_of(orders[:3])).held
    assert store.hold_batch(batch_of(orders[3:], op="hold-2")).short == {"floor"}


def test_a_buyer_over_the_limit_stops_the_batch(store: Store) -> None:
    """The buyer is named, and nobody's counter rises."""
    store.open_inventory(sale_of(20))
    orders = [make_order(1, buyer="ann", quantity=3), make_order(2, buyer="bob", quantity=2)]
    for order in orders:
        store.accept(order)

    outcome = store.hold_batch(batch_of(orders, max_per_buyer=2))

    assert outcome == HoldOutcome(held=False, over_limit=frozenset({"ann"}))
    assert store.buyer_counts("gig", ["ann", "bob"]) == {}


def test_counters_add_up_to_the_limit(store: Store) -> None:
    """A second order passes while both together stay within the limit."""
    store.open_inventory(sale_of(20))
    orders = [make_order(number, buyer="ann", quantity=2) for number in range(3)]
    for order in orders:
        store.accept(order)

    outcomes = [
        store.hold_batch(batch_of([order], op=f"hold-{order.key.shard}", max_per_buyer=5)).held for order in orders
    ]

    assert outcomes == [True, True, False]
    assert store.buyer_counts("gig", ["ann", "bob"]) == {"ann": 4}


def test_every_condition_has_its_own_verdict(store: Store) -> None:
    """What is gone, short and over the limit is told at once."""
    store.open_inventory(sale_of(2))
    orders = [make_order(1, buyer="ann", quantity=3), make_order(2, buyer="bob", quantity=1)]
    store.accept(orders[0])

    outcome = store.hold_batch(batch_of(orders, max_per_buyer=2))

    assert outcome == HoldOutcome(
        held=False, gone=frozenset({orders[1].key}), short=frozenset({"floor"}), over_limit=frozenset({"ann"})
    )


def test_an_order_over_two_pools_takes_seats_of_both(store: Store) -> None:
    """If one of them is short, neither goes down."""
    sale = make_sale(pools=(Pool("floor", 4), Pool("seats", 1)))
    store.open_inventory(sale)
    wide = [
        replace(make_order(number, buyer=f"b{number}"), demand=(Demand("floor", 2, 0), Demand("seats", 1, 0)))
        for number in range(2)
    ]
    for order in wide:
        store.accept(order)

    assert store.hold_batch(batch_of(wide)) == HoldOutcome(held=False, short=frozenset({"seats"}))
    assert store.get_pool(sale, "floor").unsold == 4
    assert store.hold_batch(batch_of(wide[:1])).held
    assert [part.pool_id for part in stored(store, wide[0]).seats] == ["floor", "seats"]


def test_a_repeated_batch_is_recognised(store: Store) -> None:
    """Nothing is taken twice, though somebody wrote to one of its orders meanwhile."""
    sale = sale_of(10)
    store.open_inventory(sale)
    orders = queue(store, 3)
    batch = batch_of(orders)
    store.hold_batch(batch)
    held = stored(store, orders[0])
    store.save(transitions.look_now(held, op="op-2", now_ms=21_000), seen_rev=held.rev)

    assert store.hold_batch(batch) == HoldOutcome(held=True)
    assert store.get_pool(sale, "floor").taken == 3


def test_another_batch_over_held_orders_finds_them_gone(store: Store) -> None:
    """Two workers over one shard change nothing twice."""
    sale = sale_of(10)
    store.open_inventory(sale)
    orders = queue(store, 3)
    store.hold_batch(batch_of(orders))

    outcome = store.hold_batch(batch_of(orders, op="hold-2"))

    assert outcome.gone == {order.key for order in orders}
    assert store.get_pool(sale, "floor").taken == 3


def test_a_full_batch_with_a_limit_fits_into_one_transaction(store: Store) -> None:
    """As many orders as the port allows, each with its buyer's counter."""
    sale = sale_of(100)
    store.open_inventory(sale)
    orders = queue(store, MAX_BATCH)

    assert store.hold_batch(batch_of(orders, max_per_buyer=1)).held
    assert store.get_pool(sale, "floor").taken == MAX_BATCH


def impossible_batches() -> dict[str, tuple[list[Order], int | None]]:
    """Name what no transaction may hold, with the per-buyer limit."""
    many_pools = [
        replace(make_order(number, buyer=f"b{number}"), demand=(Demand(f"pool-{number % 3}", 1, 0),))
        for number in range(MAX_BATCH)
    ]
    return {
        "an order twice": ([make_order(1), make_order(1)], None),
        "too many orders": ([make_order(n, buyer=f"b{n}") for n in range(MAX_BATCH + 1)], None),
        "too many actions": (many_pools, 5),
        "a buyer twice under a limit": ([make_order(1), make_order(2)], 5),
        "no order": ([], None),
    }


@pytest.mark.parametrize("name", impossible_batches())
def test_an_impossible_batch_is_refused_before_it_is_sent(store: Store, name: str) -> None:
    """The port checks the transaction's limits alike for every store."""
    store.open_inventory(sale_of(100))
    orders, limit = impossible_batches()[name]

    with pytest.raises(Invalid):
        store.hold_batch(batch_of(orders, max_per_buyer=limit))


def test_parallel_batches_never_oversell(store: Store, kind: StoreKind) -> None:
    """S1: of more orders than seats exactly as many are held as there are seats."""
    if not kind.parallel:
        pytest.skip("this emulator is wrong under threads")
    sale = sale_of(25)
    store.open_inventory(sale)
    orders = queue(store, 40)

    def hold(order: Order) -> bool:
        return store.hold_batch(batch_of([order], op=f"op-{order.accepted_at_ms}")).held

    with ThreadPoolExecutor(8) as pool:
        held = list(pool.map(hold, orders))

    assert sum(held) == 25
    assert sum(stored(store, order).status is Status.HELD for order in orders) == 25
    pool_state = store.get_pool(sale, "floor")
    assert (pool_state.unsold, pool_state.taken, pool_state.balanced) == (0, 25, True)


def test_parallel_batches_over_the_same_orders_hold_each_once(store: Store, kind: StoreKind) -> None:
    """Workers that all read the same line take each order once."""
    if not kind.parallel:
        pytest.skip("this emulator is wrong under threads")
    sale = sale_of(100)
    store.open_inventory(sale)
    orders = queue(store, 20)

    def hold(worker: int) -> int:
        held = 0
        for start in range(0, len(orders), 5):
            part = orders[start : start + 5]
            held += 5 * store.hold_batch(batch_of(part, op=f"op-{worker}-{start}")).held
        return held

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(hold, range(4))) == 20
    assert store.get_pool(sale, "floor").taken == 20
