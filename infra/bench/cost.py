"""What an order costs in capacity units, step by step, as the service counts it.

The door's store calls, the allocator and the settlement run as they are over an emulator that counts units; time is
stepped by hand and payment answers at once. Everything that is written counts, retries, failed conditions and the
notices about the sale included. What 200 idle shards cost is counted over a worker in real time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from consumers.steps import BackOffice
from consumers.tools import Tools
from consumers.worker import run_worker
from infra.bench.instant_payments import InstantPayments
from infra.bench.made_orders import POOL, SaleShape, make_orders, make_sale
from infra.bench.step_clock import StepClock
from infra.bench.units import Step, UnitBook
from infra.local.ministack import REGION, Ministack
from shared.domain.order import Reason, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.ports.store import Store
from shared.ports.system import Clock
from shared.retry import Retrier
from shared.stores.dynamo.client import Spent, connect
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables
from shared.stores.retrying import RetryingStore
from shared.system import SystemClock, SystemIds, sleep_s

PREFIX = "bench-cost"
SHARDS = 8
IDLE_SHARDS = 200
# Between two passes of the allocator, in stepped time: some thousand orders a second.
PASS_S = 0.02
MAX_PASSES = 20_000
# Polls slow down to their idle pace within this long.
SETTLE_S = 45.0
# What is promised, in units.
TARGETS = {
    "write_units_hot_key": 1.0,
    "write_units_hot_key_index": 1.0,
    "write_units_per_sold_order": 8.2,
    "write_units_per_sold_order_with_limit": 10.2,
    "write_units_per_rejected_order": 4.1,
    "idle_read_units_per_s": 20.0,
}

Say = Callable[[str], None]


@dataclass(slots=True)
class _House:
    """One emulator with everything over it."""

    store: Store
    clock: StepClock
    book: UnitBook

    def office(self) -> BackOffice:
        tools = Tools(store=self.store, gateway=InstantPayments(), clock=self.clock, ids=SystemIds())
        return BackOffice(tools)


def run(*, orders: int, idle_s: float, say: Say) -> dict[str, Any]:
    """Measure; return the figures, the steps behind them, and whether all promises are kept."""
    with Ministack() as emulator:
        figures, steps = measure_orders(emulator.url, orders=orders, prefix=PREFIX, say=say)
        say(f"{IDLE_SHARDS} idle shards: {SETTLE_S + idle_s:.0f} s in real time")
        figures["idle_read_units_per_s"], steps["idle"] = _idle(emulator.url, idle_s)
    return {
        **figures,
        "orders": orders,
        "targets": TARGETS,
        "kept": all(figures[name] <= most for name, most in TARGETS.items()),
        "steps": {name: step_value(step) for name, step in steps.items()},
    }


def measure_orders(url: str, *, orders: int, prefix: str, say: Say) -> tuple[dict[str, float], dict[str, Step]]:
    """Measure what orders cost over the emulator at `url`, in new tables; return the figures and the steps."""
    clock = StepClock()
    store, book = _open(url, prefix, clock)
    house = _House(store, clock, book)
    say(f"{orders} orders, no limit")
    figures = _sold(house, "sold", orders, None)
    say(f"{orders} orders, a limit per buyer")
    figures |= _sold(house, "sold_with_limit", orders, 4)
    say(f"{orders} orders for which no seat is left")
    figures |= _rejected(house, orders)
    store.close()
    return figures, {name: step for name, step in book.steps.items() if name != "setup"}


def step_value(step: Step) -> dict[str, Any]:
    """Write a step's units for JSON."""
    return {
        "table_write_units": step.table_writes,
        "index_write_units": step.index_writes,
        "failed_condition_units": sum(step.failed.values()),
        "read_units": step.read_units,
        "calls": step.calls,
        "refused_calls": step.refused,
        "writes_by_table": dict(sorted(step.writes.items())),
        "reads_by_table": dict(sorted(step.reads.items())),
    }


def _open(url: str, prefix: str, clock: Clock) -> tuple[Store, UnitBook]:
    """Open a store over new tables, and the book that counts what it spends."""
    client = connect(REGION, url)
    create_tables(client, Tables(prefix))
    bare = DynamoStore(client, Tables(prefix), observer=_asked_for, clock=clock)
    return RetryingStore(bare, Retrier(clock, SystemIds(), sleep_s)), UnitBook(client, prefix)


def _asked_for(_: Spent) -> None:
    """Have the service count; the book reads what it answers."""


def _stock(house: _House, shape: SaleShape, orders: int, step: str) -> Sale:
    """Open a sale, and count what it costs to accept its orders."""
    sale = house.store.create_sale(make_sale(shape, house.clock.now_ms()))
    house.store.open_inventory(sale)
    made = list(make_orders(sale, SystemIds(), orders, house.clock.now_ms()))
    house.book.begin(step)
    for order in made:
        house.store.accept(order)
    house.clock.advance(orders / 1000)
    return sale


def _sold(house: _House, name: str, orders: int, limit: int | None) -> dict[str, float]:
    """Sell every order a seat, and divide what was written."""
    shape = SaleShape(name.replace("_", "-"), orders, SHARDS, limit)
    accept, allocate, settle = (f"{name}: {part}" for part in ("accept", "allocate", "settle"))
    sale = _stock(house, shape, orders, accept)
    office = house.office()
    held: list[OrderKey] = []
    house.book.begin(allocate)
    for _ in range(MAX_PASSES):
        held += office.allocate_once(sale, 0).held
        house.clock.advance(PASS_S)
        if len(held) >= orders:
            break
    house.book.begin(settle)
    for key in held:
        office.settle_once(sale, key)
    house.book.begin("setup")
    _expect(house, sale, confirmed=orders)
    steps = [house.book.steps[step] for step in (accept, allocate, settle)]
    units = sum(step.table_writes + step.index_writes for step in steps) / orders
    if limit is not None:
        return {"write_units_per_sold_order_with_limit": round(units, 3)}
    hot = house.book.steps[accept]
    return {
        "write_units_hot_key": hot.table_writes / orders,
        "write_units_hot_key_index": hot.index_writes / orders,
        "write_units_per_sold_order": round(units, 3),
    }


def _rejected(house: _House, orders: int) -> dict[str, float]:
    """Sell ten seats, and divide what all the others cost."""
    seats = 10
    sale = _stock(house, SaleShape("rejected", seats, SHARDS), orders + seats, "rejected: accept")
    office = house.office()
    house.book.begin("rejected: first ten")
    held = list(office.allocate_once(sale, 0).held)
    for key in held:
        office.settle_once(sale, key)
    house.book.begin("rejected: reject")
    rejected = 0
    for _ in range(MAX_PASSES):
        rejected += office.allocate_once(sale, 0).rejected
        house.clock.advance(PASS_S)
        if rejected >= orders:
            break
    house.book.begin("setup")
    _expect(house, sale, confirmed=seats)
    accept, reject = house.book.steps["rejected: accept"], house.book.steps["rejected: reject"]
    accepting = (accept.table_writes + accept.index_writes) / (orders + seats)
    rejecting = (reject.table_writes + reject.index_writes) / orders
    return {"write_units_per_rejected_order": round(accepting + rejecting, 3)}


def _expect(house: _House, sale: Sale, *, confirmed: int) -> None:
    """Look that the sale came to what is divided by."""
    taken = house.store.get_pool(sale, POOL).taken
    ends: dict[str, int] = {}
    for shard in range(sale.shards):
        cursor: str | None = None
        while True:
            page = house.store.list_orders(sale.event_id, shard, limit=500, cursor=cursor)
            for order in page.orders:
                end = "sold" if order.status is Status.CONFIRMED else str(order.reason)
                ends[end] = ends.get(end, 0) + 1
            if page.cursor is None:
                break
            cursor = page.cursor
    if taken != confirmed or ends.get("sold") != confirmed or set(ends) - {"sold", str(Reason.SOLD_OUT)}:
        raise AssertionError(f"the sale {sale.event_id} did not end as expected: {taken} taken, {ends}")


def _idle(url: str, measured_s: float) -> tuple[float, Step]:
    """Let a worker watch the shards of a sale that nobody orders from; return its read units per second."""
    clock = SystemClock()
    store, book = _open(url, f"{PREFIX}-idle", clock)
    sale = store.create_sale(make_sale(SaleShape("idle", 10_000, IDLE_SHARDS), clock.now_ms()))
    store.open_inventory(sale)
    stop = threading.Event()
    tools = Tools(store=store, gateway=InstantPayments(), clock=clock, ids=SystemIds())
    worker = threading.Thread(target=run_worker, args=(tools, "idle", stop), name="idle-worker")
    worker.start()
    try:
        time.sleep(SETTLE_S)
        book.begin("idle")
        began_s = time.monotonic()
        time.sleep(measured_s)
        spent_s = time.monotonic() - began_s
        book.begin("setup")
    finally:
        stop.set()
        worker.join()
    store.close()
    return round(book.steps["idle"].read_units / spent_s, 2), book.steps["idle"]
