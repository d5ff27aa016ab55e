"""Which member does which task, without anybody in charge: rendezvous hashing over the live members' names.

When a member comes or goes only its own tasks move. Whoever knows the members knows who does what, a reader as well.
Source: Thaler, Ravishankar, "Using name-based mappings to increase hit rates" (IEEE/ACM ToN 6, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b


def owner(task_name: str, live: Sequence[str]) -> str:
    """Return the live member that a task falls to: the highest hash of the pair wins."""
    return max(live, key=lambda name: _weight(task_name, name))


def group_task_name(event_id: str, group: int) -> str:
    """Name the allocation of one group of an event's shards."""
    return f"group#{event_id}#{group}"


def shard_task_name(event_id: str, shard: int) -> str:
    """Name the settlement of one of an event's shards."""
    return f"shard#{event_id}#{shard}"


def _weight(task_name: str, name: str) -> bytes:
    return blake2b(f"{len(task_name)}:{task_name}{name}".encode(), digest_size=8).digest()
