"""Finds the orders of one shard whose time has come."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from heapq import heappop, heappush

from consumers.pace import jittered
from consumers.settlement.outcome import Outcome
from consumers.tasks import ShardTask
from consumers.tools import Tools
from shared.domain.order import Lane, WorkHint
from shared.domain.order_id import OrderKey

PAGE = 100
# Pages of one look at most; the next look goes on from there.
MAX_PAGES = 20
# The index may show an entry for this long after the order was settled.
SETTLED_S = 5.0
LATE_S = 1.0
NOT_OURS_S = 300.0
UNREADABLE_S = 60.0

_REST_S = {
    Outcome.NOTHING: LATE_S,
    Outcome.LOST_RACE: 0.0,
    Outcome.NOT_OURS: NOT_OURS_S,
    Outcome.UNREADABLE: UNREADABLE_S,
}
# An entry of the index: another time makes it another entry.
_Entry = tuple[str, int]


@dataclass(slots=True)
class Sweep:
    """Reads one shard's timer lane; entries that were dealt with lately are passed over."""

    tools: Tools
    task: ShardTask
    _rests: dict[_Entry, float] = field(default_factory=dict)
    _ends: list[tuple[float, _Entry]] = field(default_factory=list)
    _cursor: str | None = None

    def look(self, most: int, *, passing: Container[OrderKey] = ()) -> list[WorkHint]:
        """Return up to `most` entries that are due, earliest first, but those of orders under way (`passing`)."""
        now_s = self.tools.clock.monotonic_s()
        self._forget(now_s)
        found: list[WorkHint] = []
        for _ in range(MAX_PAGES):
            page = self.tools.store.due(
                self.task.event_id,
                self.task.shard,
                Lane.TIMER,
                until_ms=self.tools.clock.now_ms(),
                limit=PAGE,
                cursor=self._cursor,
            )
            found += [hint for hint in page.hints if _entry(hint) not in self._rests and hint.key not in passing]
            if page.cursor is None or len(found) >= most:
                self._cursor = None
                break
            self._cursor = page.cursor
        return found[:most]

    def settled(self, hint: WorkHint, outcome: Outcome | None) -> None:
        """Pass the entry over for a while; `outcome` is None when the store did not answer."""
        seconds = jittered(self.tools.ids, LATE_S) if outcome is None else _REST_S.get(outcome, SETTLED_S)
        until_s = self.tools.clock.monotonic_s() + seconds
        self._rests[_entry(hint)] = until_s
        heappush(self._ends, (until_s, _entry(hint)))

    def _forget(self, now_s: float) -> None:
        while self._ends and self._ends[0][0] <= now_s:
            _, entry = heappop(self._ends)
            if self._rests.get(entry, now_s + 1) <= now_s:
                del self._rests[entry]


def _entry(hint: WorkHint) -> _Entry:
    return hint.key.order_id, hint.at_ms
