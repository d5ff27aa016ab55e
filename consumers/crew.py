"""Settles orders on a bounded number of threads, so that a slow payment service stops nothing but payments.

One thread, the dispatcher, owns all that is remembered; others send it messages. It looks for due orders in the
worker's shards, hands each to a free thread, and never has the same order under way twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from consumers.coverage import Coverage
from consumers.pace import REST_S, Poll, jittered
from consumers.roster import Roster, Share
from consumers.settlement.outcome import Outcome
from consumers.settlement.settle import Settlement
from consumers.settlement.sweep import Sweep
from consumers.tasks import ShardTask, idle_s
from consumers.tools import Tools
from consumers.turns import least_busy_first
from shared.domain.errors import OnsaleError, Unavailable
from shared.domain.order import WorkHint
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale

# Orders under way or waiting for a thread, for each thread.
QUEUED_PER_THREAD = 3
# Orders of one shard taken up in one look, so that one event's backlog leaves threads to the others.
TAKEN_AT_ONCE = 20
FASTEST_LOOK_S = 0.05
LOOKS_PER_S = 200
# One event leaves this part of the room to the other ones.
KEPT_FOR_OTHERS = 4
LONGEST_WAIT_S = 0.25
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Held:
    """Orders that were just held and are due at once."""

    sale: Sale
    keys: tuple[OrderKey, ...]


@dataclass(frozen=True, slots=True)
class _Hurry:
    """An event whose due orders are wanted now."""

    event_id: str


@dataclass(frozen=True, slots=True)
class _Settled:
    """An order that a thread is through with; `outcome` is None when the store did not answer."""

    key: OrderKey
    hint: WorkHint | None
    outcome: Outcome | None


@dataclass(slots=True)
class Crew:
    """The dispatcher and its threads."""

    tools: Tools
    roster: Roster
    threads: int
    busy: Callable[[], None]
    coverage: Coverage
    _inbox: SimpleQueue[_Held | _Hurry | _Settled] = field(default_factory=SimpleQueue)
    _under_way: set[OrderKey] = field(default_factory=set)
    _by_event: Counter[str] = field(default_factory=Counter)
    _sweeps: dict[ShardTask, Sweep] = field(default_factory=dict)
    _polls: dict[ShardTask, Poll] = field(default_factory=dict)
    _pool: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        """Make the threads; they start with the first order."""
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="settle")

    # --- what other threads call ----------------------------------------------------------------------------------

    def held(self, sale: Sale, keys: tuple[OrderKey, ...]) -> None:
        """Take over orders that were just held, so that no look at the index stands between hold and charge."""
        if keys:
            self._inbox.put(_Held(sale, keys))

    def hurry(self, sale: Sale) -> None:
        """Look at the event's due orders now: its seats are wanted."""
        self._inbox.put(_Hurry(sale.event_id))

    # --- the dispatcher -------------------------------------------------------------------------------------------

    def work(self) -> None:
        """Take messages, look once at every shard that is due, and wait for the next message a moment at most."""
        share = self.roster.share
        wait_s = self._look_around(share)
        try:
            self._take(self._inbox.get(timeout=wait_s), share)
            while True:
                self._take(self._inbox.get_nowait(), share)
        except Empty:
            return

    def finish(self) -> None:
        """Let the threads end what they have begun; orders still waiting for one stay due."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def idle(self) -> bool:
        """Say whether nothing is under way."""
        return not self._under_way

    def _look_around(self, share: Share) -> float:
        """Look at every shard that is due while threads are free; return how long nothing is due."""
        self._forget_others(share)
        now_s = self.tools.clock.monotonic_s()
        wait_s = LONGEST_WAIT_S
        for task in least_busy_first(share.shards, self._by_event, self._due_s):
            if self._free <= 0:
                break
            poll = self._poll(task, share)
            if poll.is_due(now_s) and self._room(task.event_id, share) > 0:
                self._look(task, share, poll)
            wait_s = min(wait_s, max(0.0, poll.next_s - now_s))
        return wait_s if self._free > 0 else LONGEST_WAIT_S

    def _look(self, task: ShardTask, share: Share, poll: Poll) -> None:
        sale = share.sales[task.event_id]
        now_s = self.tools.clock.monotonic_s()
        try:
            most = min(TAKEN_AT_ONCE, self._room(task.event_id, share))
            hints = self._sweeps[task].look(most, passing=self._under_way)
        except OnsaleError as error:
            poll.rest(now_s, jittered(self.tools.ids, REST_S))
            self.tools.observe(task.event_id, f"sweep_{error.code}", 1)
            return
        self.coverage.read(task.event_id, "timer", [task.shard])
        poll.looked(now_s, found=bool(hints))
        for hint in hints:
            self._start(sale, hint.key, hint)

    def _take(self, message: _Held | _Hurry | _Settled, share: Share) -> None:
        match message:
            case _Held(sale, keys):
                self._take_held(sale, keys, share)
            case _Hurry(event_id):
                self._wake(task for task in self._polls if task.event_id == event_id)
            case _Settled(key, hint, outcome):
                self._under_way.discard(key)
                self._by_event[key.event_id] -= 1
                sweep = self._sweeps.get(ShardTask(key.event_id, key.shard))
                if hint is not None and sweep is not None:
                    sweep.settled(hint, outcome)

    def _take_held(self, sale: Sale, keys: tuple[OrderKey, ...], share: Share) -> None:
        """Settle what falls to this worker; the others' owners find it by themselves."""
        mine = {task.shard for task in share.shards if task.event_id == sale.event_id}
        for key in keys:
            if key.shard in mine and key not in self._under_way and self._room(sale.event_id, share) > 0:
                self._start(sale, key, None)
        self._wake(task for task in share.shards if task.event_id == sale.event_id)

    def _wake(self, tasks: Iterable[ShardTask]) -> None:
        now_s = self.tools.clock.monotonic_s()
        for task in tasks:
            if task in self._polls:
                self._polls[task].hurry(now_s)

    def _start(self, sale: Sale, key: OrderKey, hint: WorkHint | None) -> None:
        self.busy()
        self._under_way.add(key)
        self._by_event[key.event_id] += 1
        self._pool.submit(self._settle, sale, key, hint)

    @property
    def _free(self) -> int:
        return self.threads * QUEUED_PER_THREAD - len(self._under_way)

    def _room(self, event_id: str, share: Share) -> int:
        """Return how many orders of an event may be taken up: never all the room where there are other sales."""
        most = self.threads * QUEUED_PER_THREAD
        if len(share.sales) > 1:
            most = max(1, most - max(1, most // KEPT_FOR_OTHERS))
        return min(self._free, most - self._by_event[event_id])

    def _poll(self, task: ShardTask, share: Share) -> Poll:
        poll = self._polls.get(task)
        if poll is None:
            sale = share.sales[task.event_id]
            base_s = max(FASTEST_LOOK_S, len(share.shards) / LOOKS_PER_S)
            poll = self._polls[task] = Poll(base_s, idle_s(sale, self.tools.clock.now_ms()))
            self._sweeps[task] = Sweep(self.tools, task)
        return poll

    def _due_s(self, task: ShardTask) -> float:
        poll = self._polls.get(task)
        return 0.0 if poll is None else poll.next_s

    def _forget_others(self, share: Share) -> None:
        if len(self._polls) > len(share.shards):
            for task in set(self._polls) - set(share.shards):
                del self._polls[task], self._sweeps[task]

    # --- the threads ----------------------------------------------------------------------------------------------

    def _settle(self, sale: Sale, key: OrderKey, hint: WorkHint | None) -> None:
        outcome: Outcome | None = None
        try:
            outcome = Settlement(self.tools).settle_once(sale, key)
        except Unavailable as error:
            self.tools.observe(key.event_id, f"settlement_{error.code}", 1)
        except Exception:  # noqa: BLE001 - an order's trouble stays its own
            _log.exception("an order could not be settled", extra={"event_id": key.event_id, "order_id": key.order_id})
        finally:
            self._inbox.put(_Settled(key, hint, outcome))
