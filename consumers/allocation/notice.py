"""What the door and the buyers are told about a sale: availability in words, the line's length and pace."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from consumers.allocation.line import Line
from consumers.tools import Tools
from shared.domain.inventory import PoolState
from shared.domain.order import Lane
from shared.domain.sale import Sale
from shared.ports.control import Notice, PoolNotice, Word

# Published at most this often, and when nothing changed only this often.
PUBLISH_S = 1.0
UNCHANGED_S = 5.0
# The pace is measured over this long.
PACE_S = 10.0
# Lines too long to be known are counted on a few shards up to a cap, and the count is scaled up.
SAMPLED_SHARDS = 4
MAX_DEPTH = 10_000
# "Last" begins when at most this share of the capacity is still free.
LAST_SHARE = 10


@dataclass(slots=True)
class NoticeBoard:
    """Publishes one sale's notice. Only the first group's allocator does; other groups look alike on average."""

    tools: Tools
    event_id: str
    _published: Notice | None = None
    _published_at_s: float = float("-inf")
    _drained: deque[tuple[float, int]] = field(default_factory=deque)

    def drained(self, count: int) -> None:
        """Note orders that have just left the group's line."""
        if count:
            self._drained.append((self.tools.clock.monotonic_s(), count))

    def publish(self, sale: Sale, pools: Mapping[str, PoolState], line: Line, shards: int) -> None:
        """Publish if a second has passed; `shards` of the sale's shards feed `line`."""
        now_s = self.tools.clock.monotonic_s()
        if now_s - self._published_at_s < PUBLISH_S:
            return
        notice = self._write(sale, pools, line, shards, now_s)
        unchanged = self._published is not None and replace(notice, at_ms=self._published.at_ms) == self._published
        if unchanged and now_s - self._published_at_s < UNCHANGED_S:
            return
        self.tools.store.publish(self.event_id, notice)
        self._published, self._published_at_s = notice, now_s

    def _write(self, sale: Sale, pools: Mapping[str, PoolState], line: Line, shards: int, now_s: float) -> Notice:
        scale = max(sale.shard_counts) / max(1, shards)
        waiting = len(line) * scale
        if not line.complete:
            sample = line.unread[:SAMPLED_SHARDS]
            depths = [self.tools.store.depth(self.event_id, shard, Lane.LINE, most=MAX_DEPTH) for shard in sample]
            waiting = max(waiting, sum(depths) / len(depths) * max(sale.shard_counts))
        wanted = line.wanted
        while self._drained and now_s - self._drained[0][0] > PACE_S:
            self._drained.popleft()
        drained = sum(count for _, count in self._drained) * scale / PACE_S
        return Notice(
            at_ms=self.tools.clock.now_ms(),
            pools={
                pool_id: PoolNotice(_word(pool, round(wanted.get(pool_id, 0) * scale)), pool.round, pool.sold_out)
                for pool_id, pool in pools.items()
            },
            waiting=round(waiting),
            head_ms=line.head_ms,
            newest_ms=line.newest_ms,
            drained_per_s=round(drained, 1),
        )


def _word(pool: PoolState, wanted: int) -> Word:
    """Say how a pool stands for somebody who would order now, behind those who wait."""
    free = pool.left - wanted
    if pool.sold_out:
        return Word.GONE
    if free <= 0:
        return Word.WAITING
    return Word.LAST if free * LAST_SHARE <= pool.capacity else Word.AVAILABLE
