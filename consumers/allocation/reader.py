"""Reads one shard's line page by page, and again from the head, because the index shows some orders late."""

from __future__ import annotations

from consumers.pace import Poll
from consumers.tools import Tools
from shared.domain.order import Lane, WorkHint
from shared.domain.times import MAX_TIME_MS

PAGE = 100
# At least this often a shard is read from its head again.
REREAD_S = 5.0
# Looks per second that one busy group spends on its shards at most, about.
LOOKS_PER_S = 330
FASTEST_S = 0.05
MAX_DOUBLINGS = 4


class Reader:
    """Where the reading of one shard stands.

    `passes` counts the readings from the head; `passed` says that the last page ended one. `at_end` says that the
    whole line was read; later looks then go on from the last page.
    """

    def __init__(self, tools: Tools, event_id: str, shard: int, shards: int, idle_s: float) -> None:
        """Be due at once."""
        self._tools = tools
        self._event_id = event_id
        self.shard = shard
        self._poll = Poll(max(FASTEST_S, shards / LOOKS_PER_S), idle_s)
        self._rests_until_s = 0.0
        self._head_at_s = float("-inf")
        self._cursor: str | None = None
        self._tail: str | None = None
        self.at_end = False
        self.passes = 0
        self.passed = False
        self.troubles = 0
        self.read_at_s = float("-inf")

    def read(self) -> tuple[WorkHint, ...]:
        """Read one page: on from the last one, from the tail, or from the head when that was long ago."""
        now_s = self._tools.clock.monotonic_s()
        if self.head_is_old(now_s):
            cursor = None
            ends_pass = True
        else:
            cursor = self._tail if self.at_end else self._cursor
            ends_pass = not self.at_end
        page = self._tools.store.due(
            self._event_id, self.shard, Lane.LINE, until_ms=MAX_TIME_MS, limit=PAGE, cursor=cursor
        )
        self.read_at_s = now_s
        if cursor is None and self.head_is_old(now_s):
            self._head_at_s = now_s
            self.passes += 1
        self.at_end = page.cursor is None
        self._cursor = page.cursor
        if self.at_end:
            self._tail = cursor
        self.passed = self.at_end and ends_pass
        return page.hints

    def head_is_old(self, now_s: float) -> bool:
        """Say whether the head must be read again."""
        return now_s - self._head_at_s >= REREAD_S

    def looked(self, now_s: float, *, found: bool) -> None:
        """Note what a look brought."""
        self._poll.looked(now_s, found=found)

    def is_due(self, now_s: float) -> bool:
        """Say whether it is time to look again."""
        return self._poll.is_due(now_s)

    def hurry(self, now_s: float) -> None:
        """Go at the pace of a busy shard again."""
        self._poll.hurry(now_s)

    def rest(self, now_s: float, seconds: float, *, longer_each_time: bool) -> None:
        """Leave the shard to the door; perhaps twice as long each time until one of its orders was served."""
        if longer_each_time:
            seconds *= 1 << min(self.troubles, MAX_DOUBLINGS)
            self.troubles += 1
        self._rests_until_s = now_s + seconds
        self._poll.rest(now_s, seconds)

    def rests(self, now_s: float) -> bool:
        """Say whether the shard is left to the door."""
        return now_s < self._rests_until_s

    @property
    def next_s(self) -> float:
        """The next look's monotonic time."""
        return self._poll.next_s
