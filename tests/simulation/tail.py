"""The stream of changes by night: delivered late, twice, in overlapping pieces, while its shards split.

Within one stream shard records come in order, as the event source has it; between stream shards in any order, but a
child only after its parent has ended.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from aws_lambda_powertools import Logger

from consumers.stream.handler import handle
from shared.domain.errors import AnswerLost, Unavailable
from shared.domain.stats.states import EventStates, add_steps
from shared.domain.stats.window import LENGTHS_S, WindowStats, add_counts
from shared.domain.times import MAX_TIME_MS
from shared.ports.changes import StreamRecord
from shared.ports.system import Clock
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from tests.simulation.scheduler import Scheduler
from tests.simulation.watcher import InvariantBroken, Watcher

LOGGER = Logger(service="simulation", level="CRITICAL")
MOST_SHARDS = 12
REMEMBERED = 12


class MoodyStats(SqliteStats):
    """Fails now and then, before a write was applied or after."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        """Keep everything in memory."""
        super().__init__(None, clock)
        self._rng = rng
        self.moody = True

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        """Save, or fail."""
        self._before()
        saved = super().save_window(window, seen_rev=seen_rev)
        self._after()
        return saved

    def save_states(self, states: EventStates, *, seen_rev: int) -> bool:
        """Save, or fail."""
        self._before()
        saved = super().save_states(states, seen_rev=seen_rev)
        self._after()
        return saved

    def _before(self) -> None:
        if self.moody and self._rng.random() < 0.05:
            raise Unavailable

    def _after(self) -> None:
        if self.moody and self._rng.random() < 0.05:
            raise AnswerLost


@dataclass(slots=True)
class _Place:
    """How far one stream shard was delivered, and its latest records, which may come again."""

    cursor: str | None = None
    ended: bool = False
    lately: list[StreamRecord] = field(default_factory=list)


class Tail:
    """The event source over the night's change log, and the real handler behind it."""

    def __init__(self, log: SqliteStore, clock: Clock, scheduler: Scheduler, rng: random.Random) -> None:
        """Begin at the log's beginning."""
        self._log = log
        self._rng = random.Random(rng.randrange(2**32))
        self._scheduler = scheduler
        self._stats = MoodyStats(clock, self._rng)
        self._places: dict[str, _Place] = {}

    def live(self) -> None:
        """Deliver a piece now and then."""
        while True:
            self._scheduler.wait(self._rng.randrange(200, 3_000))
            for _ in range(self._rng.randrange(1, 6)):
                self._deliver_some()

    def check(self, watcher: Watcher) -> None:
        """Deliver what is left and compare the counts with what the watcher saw: each change once."""
        self._stats.moody = False
        while any(self._deliver(name, self._place(name), 1_000) for name in self._open()):
            pass
        for length_s in LENGTHS_S:
            windows = self._stats.read_windows(length_s, since_ms=0, until_ms=MAX_TIME_MS)
            counts = add_counts(window.counts for window in windows)
            if Counter(counts.changes) != watcher.steps or counts.arrivals != len(watcher.orders):
                raise InvariantBroken(f"I5: the stream was counted as {counts.changes}, not {dict(watcher.steps)}")
        states = add_steps(part.counts for part in self._stats.list_states("gig"))
        stored: dict[int, Counter[str]] = {}
        for order in watcher.orders.values():
            stored.setdefault(order.key.shard, Counter())[str(order.status)] += 1
        if states != stored:
            raise InvariantBroken(f"I5: the stream's orders stand {states}, the stored ones {stored}")

    def close(self) -> None:
        """Forget the counts."""
        self._stats.close()

    def _open(self) -> list[str]:
        """Return the stream shards that may be read: not ended, and no parent before them that has not."""
        names = self._log.stream_shards()
        return [name for name in names if not self._place(name).ended]

    def _place(self, name: str) -> _Place:
        return self._places.setdefault(name, _Place())

    def _deliver_some(self) -> None:
        names = self._open()
        name = self._rng.choice(names)
        place = self._place(name)
        if self._rng.random() < 0.02 and len(self._log.stream_shards()) < MOST_SHARDS:
            self._log.split_stream_shard(name)
        if place.lately and self._rng.random() < 0.3:
            at = self._rng.randrange(len(place.lately))
            self._hand_over(name, place.lately[at : at + self._rng.randrange(1, REMEMBERED)])
        self._deliver(name, place, self._rng.randrange(1, 10))

    def _deliver(self, name: str, place: _Place, limit: int) -> bool:
        """Deliver the next records of a stream shard; False when there are none now."""
        page = self._log.read_changes(name, cursor=place.cursor, limit=limit)
        if page.records and not self._hand_over(name, list(page.records)):
            return True
        place.lately = [*place.lately, *page.records][-REMEMBERED:]
        place.ended = page.cursor is None
        place.cursor = page.cursor or place.cursor
        return bool(page.records) or place.ended

    def _hand_over(self, name: str, records: list[StreamRecord]) -> bool:
        """Let the handler take a batch; False when any of it is to come again."""
        return not handle({"Records": records, "shardId": name}, self._stats, LOGGER)["batchItemFailures"]
