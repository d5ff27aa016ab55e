"""One worker: three loops over the same steps that a test makes one by one. The only threads are here and in `crew`.

Allocation runs in the caller's thread, round about over the worker's groups, a batch each, so that a hot sale does
not starve the small ones. Settlement has a dispatcher and threads of its own. A third loop beats and divides the
tasks; it stops beating when one of the others hangs, so that somebody else takes over.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from consumers.allocation.allocate import Allocation
from consumers.breaker import Breaker, GuardedGateway
from consumers.coverage import Coverage
from consumers.crew import Crew
from consumers.membership import HEARTBEAT_S, Membership
from consumers.pace import REST_S, jittered
from consumers.rates import Rates
from consumers.roster import Roster
from consumers.tasks import GroupTask, shards_of
from consumers.tools import Tools
from consumers.turns import Turns
from shared.domain.errors import Unavailable

PAYMENT_THREADS = 16
WRITING_THREADS = 16
LONGEST_WAIT_S = 0.25
# A loop that makes no step for so long hangs, and the worker no longer counts as alive.
HANGS_S = 30.0
# A drain ends when nothing was done for so long: longer than it takes to see that a member left without a word (three
# heartbeats), and that a dry pool stays dry; only then are those who wait for its seats told that there are none.
QUIET_S = 6.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Worker:
    """Loops until `stop` is set; a step that has begun is finished."""

    tools: Tools
    name: str
    stop: threading.Event
    payment_threads: int = PAYMENT_THREADS
    heartbeat_s: float = HEARTBEAT_S
    rates: Rates = field(default_factory=Rates)
    roster: Roster = field(init=False)
    busy_at_s: float = field(init=False)
    _crew: Crew = field(init=False)
    _coverage: Coverage = field(init=False)
    _turns: Turns = field(default_factory=Turns)
    _steps_at_s: dict[str, float] = field(default_factory=dict)
    _allocations: dict[GroupTask, Allocation] = field(default_factory=dict)
    _next_s: dict[GroupTask, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Join nobody yet."""
        breaker = Breaker(self.tools.clock, self.tools.ids)
        self.tools = replace(self.tools, gateway=GuardedGateway(self.tools.gateway, breaker))
        incarnation = self.tools.ids.random_bytes(8).hex()
        membership = Membership(self.tools.store, self.tools.clock, self.name, incarnation, self.heartbeat_s)
        self.roster = Roster(self.tools, membership)
        self._coverage = Coverage(self.tools)
        self._crew = Crew(self.tools, self.roster, self.payment_threads, self._note_busy, self._coverage)
        self.busy_at_s = self.tools.clock.monotonic_s()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Work until stopped. Unavailable when the store is out of reach from the start."""
        self.roster.refresh()
        ready()
        loops = (
            threading.Thread(target=self._loop, args=("settle", self._crew.work), name="settle-dispatch"),
            threading.Thread(target=self._beat, name="heartbeat"),
        )
        for loop in loops:
            loop.start()
        try:
            self._loop("allocate", self._allocate_round)
        finally:
            self.stop.set()
            for loop in loops:
                loop.join()
            self._crew.finish()
            self._leave()

    def _loop(self, name: str, step: Callable[[], None]) -> None:
        """Repeat a step; whatever goes wrong in one is logged, and the next one comes a little later."""
        while not self.stop.is_set():
            self._steps_at_s[name] = self.tools.clock.monotonic_s()
            try:
                step()
            except Exception:  # noqa: BLE001 - a loop outlives whatever a step meets
                _log.exception("a step failed", extra={"action": name})
                self.stop.wait(jittered(self.tools.ids, REST_S))

    # --- allocation -----------------------------------------------------------------------------------------------

    def _allocate_round(self) -> None:
        """Make as many passes as there are groups, the event first that waited longest; then wait for what is due."""
        share = self.roster.share
        for task in set(self._next_s) - set(share.groups):
            self._forget(task)
        for _ in share.groups:
            now_s = self.tools.clock.monotonic_s()
            due = self._turns.next(task for task in share.groups if self._next_s.get(task, 0.0) <= now_s)
            if due is None or self.stop.is_set():
                break
            self._allocate(due)
        now_s = self.tools.clock.monotonic_s()
        soonest_s = min((self._next_s.get(task, 0.0) for task in share.groups), default=now_s + LONGEST_WAIT_S)
        self.stop.wait(min(LONGEST_WAIT_S, max(0.0, soonest_s - now_s)))

    def _forget(self, task: GroupTask) -> None:
        """Forget a group that somebody else has now."""
        self._allocations.pop(task, None)
        self._next_s.pop(task, None)
        self._turns.forget([task])
        self.rates.forget(task)

    def _allocate(self, task: GroupTask) -> None:
        sale = self.roster.share.sales.get(task.event_id)
        if sale is None:
            self._next_s[task] = self.tools.clock.monotonic_s() + LONGEST_WAIT_S
            return
        now_s = self.tools.clock.monotonic_s()
        most, wait_s = self.rates.left(sale, task, now_s)
        if most == 0:
            self._next_s[task] = now_s + wait_s
            self._coverage.read(task.event_id, "line", shards_of(sale, task.group))
            return
        allocation = self._allocations.get(task)
        if allocation is None:
            allocation = self._allocations[task] = Allocation(self.tools, task, self._crew.hurry)
        self._next_s[task] = self.tools.clock.monotonic_s() + jittered(self.tools.ids, REST_S)
        try:
            done = allocation.allocate_once(sale, most)
        except Exception:  # noqa: BLE001 - an event's trouble stays its own
            self.tools.observe(task.event_id, "allocation_failed", 1)
            _log.exception("a pass failed", extra={"event_id": task.event_id, "action": "allocate"})
            return
        self._next_s[task] = self.tools.clock.monotonic_s() + done.next_s
        self._coverage.read(task.event_id, "line", allocation.line.read_since(now_s))
        self.rates.spend(sale, task, len(done.held) + done.rejected)
        self._crew.held(sale, done.held)
        if done.held or done.rejected:
            self._note_busy()

    # --- membership -----------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        while not self.stop.wait(self.heartbeat_s / 4):
            now_s = self.tools.clock.monotonic_s()
            hanging = [name for name, at_s in self._steps_at_s.items() if now_s - at_s > HANGS_S]
            if hanging:
                _log.error("a loop hangs; no heartbeat", extra={"action": hanging[0]})
                continue
            try:
                self.roster.keep()
                self._coverage.check(self.roster.share)
            except Exception:  # noqa: BLE001 - a loop outlives whatever a step meets
                _log.exception("a step failed", extra={"action": "heartbeat"})

    def _leave(self) -> None:
        try:
            self.roster.membership.leave()
        except Unavailable:
            _log.warning("could not say goodbye; the others will notice")

    def _note_busy(self) -> None:
        self.busy_at_s = self.tools.clock.monotonic_s()


def run_worker(
    tools: Tools,
    name: str,
    stop: threading.Event,
    *,
    payment_threads: int = PAYMENT_THREADS,
    reading_threads: int = 1,
    rates: Rates | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Run one worker called `name` until `stop` is set.

    `reading_threads` > 1 spreads the reading of many shards, for stores that are a network away. `ready` is called
    once the worker has its first share. Unavailable when the store is out of reach from the start.
    """
    with _spreading(tools, reading_threads) as spreading:
        Worker(spreading, name, stop, payment_threads, rates=rates or Rates()).run(ready)


def drain(
    tools: Tools,
    name: str,
    *,
    deadline_s: float,
    quiet_s: float = QUIET_S,
    payment_threads: int = PAYMENT_THREADS,
    reading_threads: int = 1,
) -> bool:
    """Work until nothing was to do for `quiet_s`, at most `deadline_s`; return whether all was done.

    For a scheduler that grants a worker some time now and then.
    """
    stop, quiet = threading.Event(), threading.Event()
    ends_s = tools.clock.monotonic_s() + deadline_s

    def watch(worker: Worker) -> None:
        while not stop.wait(min(0.1, quiet_s / 4)):
            now_s = tools.clock.monotonic_s()
            if now_s - worker.busy_at_s >= quiet_s:
                quiet.set()
            if quiet.is_set() or now_s >= ends_s:
                stop.set()

    with _spreading(tools, reading_threads) as spreading:
        worker = Worker(spreading, name, stop, payment_threads)
        watcher = threading.Thread(target=watch, args=(worker,), name="drain-watch")
        watcher.start()
        try:
            worker.run()
        finally:
            stop.set()
            watcher.join()
    return quiet.is_set()


@contextmanager
def _spreading(tools: Tools, reading_threads: int) -> Iterator[Tools]:
    with ExitStack() as stack:
        writers = stack.enter_context(ThreadPoolExecutor(WRITING_THREADS, thread_name_prefix="write"))
        tools = replace(tools, fan_out_writes=writers.map)
        if reading_threads > 1:
            readers = stack.enter_context(ThreadPoolExecutor(reading_threads, thread_name_prefix="read"))
            tools = replace(tools, fan_out_reads=readers.map)
        yield tools
