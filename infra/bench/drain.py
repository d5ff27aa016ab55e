"""How fast a backlog is worked off: seats alone, and seats with confirmation, by workers that are processes.

Orders are stored first; then the clock runs until the last one is done. Payment answers at once, within the worker.
CPU time is that of the workers, so that a figure from a busy machine can be compared.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Self

from infra.bench.drain_worker import LONGEST_S, Signals, Task, work
from infra.bench.made_orders import SaleShape, make_orders, make_sale
from infra.local.ministack import Ministack, create_local_tables
from shared.domain.errors import Unavailable
from shared.settings import Settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_store

# Orders stored at the same time: a store that commits together is faster so.
LOADERS = 16
READY_WITHIN_S = 60.0
# A measurement without progress for so long has failed.
STUCK_S = 60.0
# What is promised: seats alone, one worker, SQLite.
ALLOCATED_PER_S = 3_000
POLL_S = 0.005

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement; `confirm` says whether orders go all the way."""

    store: str
    workers: int
    shards: int
    orders: int
    confirm: bool


@dataclass(frozen=True, slots=True)
class Drained:
    """What came out: wall-clock pace, and the workers' CPU time for an order, in ms."""

    store: str
    what: str
    workers: int
    shards: int
    orders: int
    seconds: float
    orders_per_s: float
    cpu_ms_per_order: float


def run(cases: Sequence[Case], say: Say) -> dict[str, Any]:
    """Measure every case over fresh data; the best single-worker pace of seats alone on SQLite is the promise's."""
    results: list[Drained] = []
    with _Back() as back:
        for case in cases:
            result = _measure(case, back)
            results.append(result)
            say(
                f"{result.store}, {result.what}, {result.workers} workers, {result.shards} shards: "
                f"{result.orders_per_s:,.0f} orders/s, {result.cpu_ms_per_order:.3f} ms CPU an order"
            )
    alone = [
        one.orders_per_s
        for one in results
        if (one.store, one.workers) == ("sqlite", 1) and one.what == _what(confirm=False)
    ]
    best = max(alone, default=None)
    return {
        "allocated_per_s_sqlite_1_worker": best,
        "target_per_s": ALLOCATED_PER_S,
        "kept": best is None or best >= ALLOCATED_PER_S,
        "runs": [asdict(one) for one in results],
    }


class _Back:
    """Makes fresh stores; the emulator is started with the first that needs it."""

    def __init__(self) -> None:
        self._emulator: Ministack | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._emulator is not None:
            self._emulator.stop()

    @contextmanager
    def settings(self, store: str) -> Iterator[Settings]:
        """Give the settings of an empty store, which goes with the block."""
        with tempfile.TemporaryDirectory(prefix="onsale-drain-") as folder:
            if store == "sqlite":
                yield Settings(data_dir=folder)
                return
            if self._emulator is None:
                self._emulator = Ministack()
            prefix = f"drain-{uuid.uuid4().hex[:8]}"
            create_local_tables(self._emulator.url, prefix)
            yield Settings(store="dynamodb", dynamodb_url=self._emulator.url, table_prefix=prefix)


def _measure(case: Case, back: _Back) -> Drained:
    with back.settings(case.store) as settings:
        event_id = _load(case, settings)
        seconds, cpu_s = _drain(case, settings, event_id)
    return Drained(
        store=case.store,
        what=_what(confirm=case.confirm),
        workers=case.workers,
        shards=case.shards,
        orders=case.orders,
        seconds=round(seconds, 3),
        orders_per_s=round(case.orders / seconds, 1),
        cpu_ms_per_order=round(1000 * cpu_s / case.orders, 3),
    )


def _what(*, confirm: bool) -> str:
    return "allocate and confirm" if confirm else "allocate"


def _load(case: Case, settings: Settings) -> str:
    """Store a sale and its orders."""
    clock, ids = SystemClock(), SystemIds()
    store = open_store(settings, clock, ids)
    # Twice the seats: a pool of several slices keeps half of them back, and none is to run dry.
    capacity = max(2 * case.orders, 1_000 * case.workers)
    shape = SaleShape("drain", capacity, case.shards, slices=case.workers)
    sale = store.create_sale(make_sale(shape, clock.now_ms()))
    store.open_inventory(sale)
    orders = make_orders(sale, ids, case.orders, clock.now_ms() - case.orders)
    with ThreadPoolExecutor(LOADERS, thread_name_prefix="load") as loaders:
        for _ in loaders.map(store.accept, orders):
            pass
    store.close()
    return sale.event_id


def _drain(case: Case, settings: Settings, event_id: str) -> tuple[float, float]:
    """Let the workers loose; return seconds until the last order was done, and their CPU seconds."""
    context = multiprocessing.get_context("spawn")
    signals = Signals(context.Value("i", 0), context.Event(), context.Event(), context.Value("i", 0), context.Queue())
    children = [
        context.Process(
            target=work,
            args=(Task(settings, event_id, number, case.workers, case.confirm), signals),
            name=f"drain-{number}",
            daemon=True,
        )
        for number in range(case.workers)
    ]
    for child in children:
        child.start()
    try:
        _wait(lambda: signals.ready.value, case.workers, children, READY_WITHIN_S)
        began_s = time.monotonic()
        signals.start.set()
        _wait(lambda: signals.done.value, case.orders, children, STUCK_S)
        seconds = time.monotonic() - began_s
        signals.stop.set()
        cpu_s = sum(signals.cpu_s.get(timeout=STUCK_S) for _ in children)
        for child in children:
            child.join(STUCK_S)
    finally:
        for child in children:
            if child.is_alive():
                child.terminate()
                child.join()
    return seconds, cpu_s


def _wait(count: Callable[[], int], until: int, children: Sequence[BaseProcess], stuck_s: float) -> None:
    """Wait until a count is reached; Unavailable when a worker died, or nothing moves any more."""
    seen, since_s, began_s = -1, time.monotonic(), time.monotonic()
    while (now := count()) < until:
        if now != seen:
            seen, since_s = now, time.monotonic()
        if any(child.exitcode is not None for child in children):
            raise Unavailable("A worker of the measurement ended early; it has said why.")
        if time.monotonic() - since_s > stuck_s or time.monotonic() - began_s > LONGEST_S:
            raise Unavailable(f"The measurement does not move on: {now} of {until} after {stuck_s:.0f} s.")
        time.sleep(POLL_S)
