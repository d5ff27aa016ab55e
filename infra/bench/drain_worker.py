"""One worker of the drain measurement, in a process of its own, with payment that answers at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event

from consumers.allocation.allocate import Allocation
from consumers.tasks import GroupTask
from consumers.tools import Tools
from consumers.worker import run_worker
from infra.bench.instant_payments import InstantPayments
from shared.domain.sale import Sale
from shared.settings import Settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_store

READING_THREADS = 8
# As long as the measurement may take before it gives up by itself.
LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class Task:
    """What one worker does: worker `number` of `workers`; with `confirm` the whole way, else seats only."""

    settings: Settings
    event_id: str
    number: int
    workers: int
    confirm: bool


@dataclass(frozen=True, slots=True)
class Signals:
    """What the processes share: ready workers, the start, the end, orders done, CPU seconds spent."""

    ready: Synchronized[int]
    start: Event
    stop: Event
    done: Synchronized[int]
    cpu_s: Queue[float]


def work(task: Task, signals: Signals) -> None:
    """Get ready, wait for the start, work until the end, report the CPU time."""
    clock, ids = SystemClock(), SystemIds()
    store = open_store(task.settings, clock, ids)
    counted = "confirmed" if task.confirm else "held"

    def observe(_event_id: str, what: str, count: int) -> None:
        if what == counted:
            with signals.done.get_lock():
                signals.done.value += count

    tools = Tools(store=store, gateway=InstantPayments(), clock=clock, ids=ids, observe=observe)
    sale = store.get_sale(task.event_id).sale
    with signals.ready.get_lock():
        signals.ready.value += 1
    signals.start.wait(LONGEST_S)
    began_s = time.process_time()
    reading = READING_THREADS if task.settings.store == "dynamodb" else 1
    (_go_all_the_way if task.confirm else _allocate)(tools, sale, task, signals.stop, reading)
    signals.cpu_s.put(time.process_time() - began_s)
    store.close()


def _allocate(tools: Tools, sale: Sale, task: Task, stop: Event, reading: int) -> None:
    """Give seats to the worker's own groups, pass after pass."""
    with ThreadPoolExecutor(reading, thread_name_prefix="read") as readers:
        if reading > 1:
            tools = replace(tools, fan_out_reads=readers.map)
        mine = [GroupTask(sale.event_id, group) for group in range(sale.groups) if group % task.workers == task.number]
        allocations = [Allocation(tools, group, lambda _: None) for group in mine]
        while not stop.is_set():
            wait_s = min((allocation.allocate_once(sale).next_s for allocation in allocations), default=0.05)
            if wait_s > 0:
                stop.wait(min(wait_s, 0.05))


def _go_all_the_way(tools: Tools, _sale: Sale, task: Task, stop: Event, reading: int) -> None:
    """Run the worker that `onsale work` runs."""
    ended = threading.Event()

    def watch() -> None:
        stop.wait(LONGEST_S)
        ended.set()

    watcher = threading.Thread(target=watch, name="end")
    watcher.start()
    run_worker(tools, f"drain-{task.number}", ended, reading_threads=reading)
    watcher.join()
