"""The allocating transaction against the domain's own idea of it, and against parallel ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import Contended
from shared.domain.order import Demand, Duty, Lane, Line, Order, Payment, WorkHint
from shared.domain.order_id import order_key
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch, HoldOutcome
from shared.stores.items import order_item
from shared.stores.wire import from_wire
from tests.builders import make_order, make_sale
from tests.integration.dynamo.conftest import Bench

TWO_POOLS = (Demand("floor", 2, 0), Demand("balcony", 1, 0))
POOLS = (Pool("floor", 1_000, 2), Pool("balcony", 10))


def _hint(order: Order) -> WorkHint:
    return WorkHint(order.key, Lane.LINE, order.accepted_at_ms, order.buyer_id, order.demand, order.accepted_at_ms)


def _batch(op: str, *orders: Order, most: int | None = None) -> HoldBatch:
    hints = tuple(_hint(order) for order in orders)
    return HoldBatch("gig", op, 5_000, 65_000, hints, {"floor": 1, "balcony": 0}, most)


def _delayed(order: Order) -> Order:
    return transitions.fail(order, {Duty.REJOIN: 9_000}, op="d", now_ms=3_000, error="It broke.")


def _parked(order: Order) -> Order:
    return transitions.park(_delayed(order), op="p", now_ms=4_000, error="It broke.")


def _rejoined(order: Order) -> Order:
    return transitions.rejoin(_delayed(order), op="j", now_ms=4_000)


@pytest.mark.parametrize("before", [lambda order: order, _delayed, _parked, _rejoined])
@pytest.mark.parametrize("method", ["pm_card_visa", None])
def test_a_held_order_is_the_one_the_domain_would_make(
    bench: Bench, method: str | None, before: Callable[[Order], Order]
) -> None:
    """Without having read it, the transaction leaves the very item that `transitions.hold` and `order_item` give."""
    queued = before(
        make_order(
            lines=(Line("standing", 2, 2_500), Line("seat", 1, 4_000)),
            demand=TWO_POOLS,
            payment=Payment(method=method),
            holder="Ann",
        )
    )
    bench.store.open_inventory(make_sale(pools=POOLS))
    bench.store.accept(queued)

    assert bench.store.hold_batch(_batch("h", queued, most=4)).held

    expected = transitions.hold(queued, op="h", now_ms=5_000, hold_ends_at_ms=65_000, slices={"floor": 1, "balcony": 0})
    assert bench.store.get_order(queued.key) == expected
    stored = bench.store._calls._client.get_item(
        TableName=bench.tables.orders, Key={"pk": {"S": queued.key.partition}, "sk": {"S": queued.key.order_id}}
    )
    assert from_wire(stored["Item"]) == order_item(expected)


def test_every_action_gets_its_own_verdict(bench: Bench) -> None:
    """One order gone, one pool short, one buyer over the limit: all are told at once, and nothing is written."""
    sale = make_sale(pools=POOLS)
    bench.store.open_inventory(sale)
    there = make_order(1, buyer="ann", quantity=2)
    gone = make_order(2, buyer="bob", demand=(Demand("balcony", 11, 0),))
    greedy = make_order(3, buyer="eve", quantity=5)
    bench.store.accept(there)
    bench.store.accept(greedy)

    outcome = bench.store.hold_batch(_batch("h", there, gone, greedy, most=4))

    assert outcome == HoldOutcome(
        held=False,
        gone=frozenset({gone.key}),
        short=frozenset({"balcony"}),
        over_limit=frozenset({"bob", "eve"}),
    )
    assert bench.store.get_order(there.key) == there
    assert bench.store.get_pool(sale, "floor").taken == 0
    assert bench.store.buyer_counts("gig", ["ann", "bob", "eve"]) == {}


def test_a_full_batch_with_limits_fits_a_transaction(bench: Bench) -> None:
    """49 orders with their buyers' counters and two slices are 100 actions, which is what a transaction takes."""
    bench.store.open_inventory(make_sale(pools=POOLS))
    orders = [make_order(n, buyer=f"buyer-{n}") for n in range(1, 49)]
    orders.append(make_order(49, buyer="buyer-49", demand=TWO_POOLS))
    for order in orders:
        bench.store.accept(order)

    assert bench.store.hold_batch(_batch("h", *orders, most=4)).held
    assert len(bench.road.requests[-1]["TransactItems"]) == 100


def test_parallel_batches_never_oversell(bench: Bench) -> None:
    """S1: 60 orders of two after 50 seats, four workers, no order of theirs: 25 are held, never one more."""
    sale = make_sale(pools=(Pool("floor", 50),), shard_counts=(4,))
    bench.store.open_inventory(sale)
    orders = [make_order(n, buyer=f"buyer-{n}", quantity=2) for n in range(1, 61)]
    for order in orders:
        bench.store.accept(order)

    def hold(order: Order) -> HoldOutcome:
        batch = HoldBatch("gig", order.key.order_id[-6:], 5_000, 65_000, (_hint(order),), {"floor": 0}, None)
        while True:
            try:
                return bench.store.hold_batch(batch)
            except Contended:
                continue

    with ThreadPoolExecutor(4) as workers:
        outcomes = list(workers.map(hold, orders))

    pool = bench.store.get_pool(sale, "floor")
    assert sum(outcome.held for outcome in outcomes) == 25
    assert all(outcome.short == {"floor"} for outcome in outcomes if not outcome.held)
    assert (pool.taken, pool.unsold, pool.balanced) == (50, 0, True)


def test_one_order_is_held_once_however_many_want_it(bench: Bench) -> None:
    """Q1: eight workers that saw the same line hold its order once."""
    sale = make_sale()
    bench.store.open_inventory(sale)
    order = make_order()
    bench.store.accept(order)
    batches = [HoldBatch("gig", f"op-{n}", 5_000, 65_000, (_hint(order),), {"floor": 0}, None) for n in range(8)]

    with ThreadPoolExecutor(8) as workers:
        outcomes = list(workers.map(bench.store.hold_batch, batches))

    assert sum(outcome.held for outcome in outcomes) == 1
    assert bench.store.get_pool(sale, "floor").taken == 1


def test_a_buyer_over_several_shards_stays_within_the_limit(bench: Bench) -> None:
    """K8: limit 1, three orders at once on different shards: exactly one is held."""
    bench.store.open_inventory(make_sale())
    orders = [
        replace(make_order(n), key=order_key("gig", n.to_bytes(16, "big"), (4,), 1), buyer_id="ann") for n in (1, 2, 3)
    ]
    for order in orders:
        bench.store.accept(order)
    batches = [
        HoldBatch("gig", f"op-{n}", 5_000, 65_000, (_hint(order),), {"floor": 0}, 1) for n, order in enumerate(orders)
    ]

    with ThreadPoolExecutor(3) as workers:
        outcomes = list(workers.map(bench.store.hold_batch, batches))

    assert sorted(outcome.held for outcome in outcomes) == [False, False, True]
    assert bench.store.buyer_counts("gig", ["ann"]) == {"ann": 1}
