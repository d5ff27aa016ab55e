"""The pieces that workers share among themselves: an event's allocation groups, and its shards' timers."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.rendezvous import group_task_name, shard_task_name
from shared.domain.sale import Sale, group_of

# Idle looks per second that one event costs in each lane, over all its shards; an empty look is half a read unit.
IDLE_LOOKS_PER_S = 14
SHORTEST_IDLE_S = 0.5
# A sale that ended long ago is looked at as rarely as this.
LONG_ENDED_MS = 3_600_000
LONGEST_IDLE_S = 60.0


@dataclass(frozen=True, slots=True, order=True)
class GroupTask:
    """Allocate one group of an event's shards."""

    event_id: str
    group: int

    @property
    def name(self) -> str:
        """A name that no other task has."""
        return group_task_name(self.event_id, self.group)


@dataclass(frozen=True, slots=True, order=True)
class ShardTask:
    """Settle what is due in one shard of an event."""

    event_id: str
    shard: int

    @property
    def name(self) -> str:
        """A name that no other task has."""
        return shard_task_name(self.event_id, self.shard)


def shard_count(sale: Sale) -> int:
    """Return how many shards hold orders of the sale under any version of its map."""
    return max(sale.shard_counts)


def shards_of(sale: Sale, group: int) -> list[int]:
    """Return the shards that feed a group; there may be none, and the group still owns its slices."""
    return [shard for shard in range(shard_count(sale)) if group_of(sale, shard) == group]


def group_tasks(sale: Sale) -> list[GroupTask]:
    """Return the sale's allocation tasks."""
    return [GroupTask(sale.event_id, group) for group in range(sale.groups)]


def shard_tasks(sale: Sale) -> list[ShardTask]:
    """Return the sale's settlement tasks."""
    return [ShardTask(sale.event_id, shard) for shard in range(shard_count(sale))]


def idle_s(sale: Sale, now_ms: int) -> float:
    """Return how long a lane of an idle shard is left alone."""
    if now_ms - sale.closes_at_ms > LONG_ENDED_MS:
        return LONGEST_IDLE_S
    return max(SHORTEST_IDLE_S, shard_count(sale) / IDLE_LOOKS_PER_S)
