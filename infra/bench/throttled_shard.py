"""What one throttled shard costs the others: how long their orders wait for seats, with it and without.

The real allocation in virtual time over a store in memory, where every call takes its time: a look 1 ms, a transaction
8 ms. For the whole run each transaction that touches one of 64 shards is throttled. Run it with
`python -m infra.bench.throttled_shard`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from statistics import median, quantiles
from typing import TypeVar

from msgspec.structs import replace

from consumers.allocation.allocate import Allocation
from consumers.tasks import GroupTask
from consumers.tools import Tools
from infra.bench.instant_payments import InstantPayments
from infra.bench.made_orders import SaleShape, make_orders, make_sale
from infra.bench.step_clock import StepClock
from shared.domain.errors import Throttled
from shared.domain.order import Order
from shared.ports.inventory import HoldBatch, HoldOutcome
from shared.ports.store import Store
from shared.stores.sqlite import SqliteStore
from shared.stores.wrapped import WrappedStore
from shared.system import SystemIds

ORDERS, SHARDS, THROTTLED_SHARD = 4_000, 64, 7
CROWD_S = 5.0
LOOK_S, TRANSACTION_S, IDLE_S = 0.001, 0.008, 0.002
PAIRS = 5
PROMISED_RATIO = 1.2

T = TypeVar("T")


class TimedStore(WrappedStore):
    """Lets time pass with every call, and throttles transactions that touch one shard."""

    def __init__(self, inner: Store, clock: StepClock, throttled: int | None) -> None:
        """Throttle `throttled`, or nothing."""
        super().__init__(inner)
        self._clock = clock
        self._throttled = throttled

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        """Hold the batch, unless an order of the throttled shard is in it."""
        self._clock.advance(TRANSACTION_S)
        if any(hint.key.shard == self._throttled for hint in batch.orders):
            raise Throttled
        return self._inner.hold_batch(batch)

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:  # noqa: ARG002 - every call costs the same
        self._clock.advance(LOOK_S)
        return run()


def p99_ms(throttled: int | None) -> float:
    """Run a crowd through; return how long the slowest hundredth of the other shards' orders waited, in ms."""
    clock = StepClock()
    sale = make_sale(SaleShape("spare", ORDERS, SHARDS), clock.now_ms())
    store = SqliteStore(None, clock)
    store.create_sale(sale)
    store.open_inventory(sale)
    tools = Tools(TimedStore(store, clock, throttled), InstantPayments(), clock, SystemIds())
    # Payments have threads of their own in a worker, and take no time from the allocation.
    allocation = Allocation(tools, GroupTask(sale.event_id, 0), lambda _: None)
    begin_ms = clock.now_ms()
    arrivals = (
        replace(order, accepted_at_ms=begin_ms + round(number * CROWD_S * 1000 / ORDERS))
        for number, order in enumerate(make_orders(sale, SystemIds(), ORDERS, begin_ms))
    )
    coming = next(arrivals, None)
    while coming is not None or clock.now_ms() < begin_ms + 1000 * (CROWD_S + 10):
        while coming is not None and coming.accepted_at_ms <= clock.now_ms():
            store.accept(coming)
            coming = next(arrivals, None)
        allocation.allocate_once(sale)
        clock.advance(IDLE_S)
    waits = [
        (order.held_at_ms or clock.now_ms()) - order.accepted_at_ms
        for order in _stored(store, sale.event_id)
        if order.key.shard != THROTTLED_SHARD
    ]
    store.close()
    return quantiles(waits, n=100)[98]


def _stored(store: Store, event_id: str) -> Iterator[Order]:
    for shard in range(SHARDS):
        yield from store.list_orders(event_id, shard, limit=ORDERS).orders


def main() -> int:
    """Measure pairs of runs, print them as JSON; 1 when the median ratio is above what is promised."""
    pairs = [(p99_ms(None), p99_ms(THROTTLED_SHARD)) for _ in range(PAIRS)]
    ratio = median(throttled / calm for calm, throttled in pairs)
    figures = {
        "pairs_p99_ms": [[round(one, 1) for one in pair] for pair in pairs],
        "median_ratio": round(ratio, 3),
        "kept": ratio <= PROMISED_RATIO,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0 if figures["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
