"""How many are overtaken: older orders left without a seat while younger ones of equal size were served.

A crowd comes in over ten seconds of virtual time while the real allocation gives out seats from a store in memory, one
pass of every group each 50 ms; the index shows every order with a delay of its own, up to half a second. Run it with
`python -m infra.bench.fairness`.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from consumers.steps import BackOffice
from consumers.tools import Tools
from infra.bench.instant_payments import InstantPayments
from infra.bench.made_orders import SaleShape, make_orders, make_sale
from infra.bench.step_clock import StepClock
from shared.domain.order import Lane, Order
from shared.domain.sale import Sale
from shared.ports.orders import HintPage
from shared.ports.store import Store
from shared.stores.sqlite import SqliteStore
from shared.stores.wrapped import WrappedStore
from shared.system import SystemIds

ORDERS, SEATS, SHARDS = 50_000, 10_000, 64
CROWD_S = 10.0
STEP_S = 0.05
LATEST_HINT_MS = 500
# Passes without a held order after which nothing more is to come.
QUIET_STEPS = 40
PROMISED_SHARE = 0.005

T = TypeVar("T")


class LateIndex(WrappedStore):
    """Shows each order in its lane only a while after it was taken."""

    def __init__(self, inner: Store, clock: StepClock) -> None:
        """Delay by the order's own number, so that a run can be repeated."""
        super().__init__(inner)
        self._clock = clock

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        """List what the index shows by now."""
        page = self._inner.due(event_id, shard, lane, until_ms=until_ms, limit=limit, cursor=cursor)
        now_ms = self._clock.now_ms()
        shown = (hint for hint in page.hints if hint.accepted_at_ms + _delay_ms(hint.key.order_id) <= now_ms)
        return HintPage(tuple(shown), page.cursor)

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:  # noqa: ARG002 - all is handed on
        return run()


@dataclass(frozen=True, slots=True)
class Result:
    """One run: how many orders got seats, and which share of all orders was overtaken."""

    slices: int
    served: int
    overtaken: int
    overtaken_share: float


def measure(slices: int, *, orders: int = ORDERS, seats: int = SEATS, shards: int = SHARDS) -> Result:
    """Let a crowd come and give out all seats."""
    clock = StepClock()
    sale = make_sale(SaleShape("fair", seats, shards, slices=slices), clock.now_ms())
    store = SqliteStore(None, clock)
    store.create_sale(sale)
    store.open_inventory(sale)
    office = BackOffice(Tools(LateIndex(store, clock), InstantPayments(), clock, SystemIds()))
    arrivals = _arrivals(sale, orders, clock.now_ms())
    quiet, coming = 0, next(arrivals, None)
    while quiet < QUIET_STEPS:
        while coming is not None and coming.accepted_at_ms <= clock.now_ms():
            store.accept(coming)
            coming = next(arrivals, None)
        held = sum(len(office.allocate_once(sale, group).held) for group in range(sale.groups))
        quiet = 0 if held or coming is not None else quiet + 1
        clock.advance(STEP_S)
    stored = list(_stored(store, sale, shards))
    store.close()
    count, served = overtaken(stored)
    return Result(slices, served, count, count / len(stored))


def overtaken(orders: list[Order]) -> tuple[int, int]:
    """Return (orders without a seat whose place is below the number served, the number served); all of one size."""
    orders = sorted(orders, key=lambda order: (order.accepted_at_ms, order.key.order_id))
    served = sum(order.held_at_ms is not None for order in orders)
    return sum(order.held_at_ms is None for order in orders[:served]), served


def _arrivals(sale: Sale, count: int, now_ms: int) -> Iterator[Order]:
    for number, order in enumerate(make_orders(sale, SystemIds(), count, now_ms)):
        yield replace(order, accepted_at_ms=now_ms + round(number * CROWD_S * 1000 / count))


def _stored(store: Store, sale: Sale, shards: int) -> Iterator[Order]:
    for shard in range(shards):
        cursor: str | None = None
        while True:
            page = store.list_orders(sale.event_id, shard, limit=1_000, cursor=cursor)
            yield from page.orders
            cursor = page.cursor
            if cursor is None:
                break


def _delay_ms(order_id: str) -> int:
    return zlib.crc32(order_id.encode()) % LATEST_HINT_MS


def main() -> int:
    """Measure with one slice and with four, print the figures as JSON; 1 when the promise is not kept."""
    results = [measure(slices) for slices in (1, 4)]
    figures = [
        {
            "slices": one.slices,
            "served": one.served,
            "overtaken": one.overtaken,
            "overtaken_share": round(one.overtaken_share, 5),
        }
        for one in results
    ]
    kept = all(one.overtaken_share < PROMISED_SHARE for one in results)
    sys.stdout.write(json.dumps({"orders": ORDERS, "seats": SEATS, "shards": SHARDS, "runs": figures, "kept": kept}))
    sys.stdout.write("\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
