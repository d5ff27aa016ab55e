"""Shards that nobody has looked at for too long are loud: an error in the log and a count, again and again."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from consumers.roster import Share
from consumers.tasks import GroupTask, idle_s, shards_of
from consumers.tools import Tools

# Longer than a spared shard rests the first times, and than a busy worker takes for a round.
UNCOVERED_S = 15.0
# As often as the log says so for one event.
TELL_S = 10.0
NAMED = 20
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Coverage:
    """When each of this worker's shards was last read, in the line and in the timer lane; hints, all can be lost."""

    tools: Tools
    _read_at_s: dict[tuple[str, str, int], float] = field(default_factory=dict)
    _told_at_s: dict[str, float] = field(default_factory=dict)

    def read(self, event_id: str, lane: str, shards: Iterable[int]) -> None:
        """Note shards that were read just now."""
        now_s = self.tools.clock.monotonic_s()
        for shard in shards:
            self._read_at_s[event_id, lane, shard] = now_s

    def check(self, share: Share) -> dict[str, int]:
        """Tell of shards that fall to this worker and were not read for long; return how many by event."""
        now_s = self.tools.clock.monotonic_s()
        found = {event_id: lanes for event_id, lanes in self._mine(share).items() if lanes}
        late: dict[str, int] = {}
        known: dict[tuple[str, str, int], float] = {}
        for event_id, lanes in found.items():
            sale = share.sales[event_id]
            patience_s = max(UNCOVERED_S, 3 * idle_s(sale, self.tools.clock.now_ms()))
            for lane, shard in lanes:
                # What has just become this worker's counts from now.
                known[event_id, lane, shard] = self._read_at_s.get((event_id, lane, shard), now_s)
            named = [f"{lane} {shard}" for lane, shard in lanes if now_s - known[event_id, lane, shard] > patience_s]
            if named:
                late[event_id] = len(named)
                self._tell(event_id, named, now_s)
        self._read_at_s = known
        return late

    def _tell(self, event_id: str, named: list[str], now_s: float) -> None:
        if now_s - self._told_at_s.get(event_id, float("-inf")) < TELL_S:
            return
        self._told_at_s[event_id] = now_s
        self.tools.observe(event_id, "shards_uncovered", len(named))
        _log.error(
            "shards are not read; their orders wait",
            extra={"event_id": event_id, "action": "coverage", "count": len(named), "shards": named[:NAMED]},
        )

    @staticmethod
    def _mine(share: Share) -> dict[str, list[tuple[str, int]]]:
        mine: dict[str, list[tuple[str, int]]] = {}
        for group in share.groups:
            mine.setdefault(group.event_id, []).extend(("line", shard) for shard in _line_shards(share, group))
        for task in share.shards:
            mine.setdefault(task.event_id, []).append(("timer", task.shard))
        return mine


def _line_shards(share: Share, group: GroupTask) -> list[int]:
    return shards_of(share.sales[group.event_id], group.group)
