"""The workers, and what of the event falls to each."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.console.look import Look
from ingest.console.shapes import WorkerCard, WorkerRow
from shared.domain.rendezvous import group_task_name, owner, shard_task_name
from shared.domain.sale import Sale, slice_of

# A heartbeat comes every second; one that has stood still for so long is a silent worker's.
SILENT_AFTER_S = 3.0


def worker_card(look: Look) -> WorkerCard:
    """Read the heartbeats by one query; who does what follows from who lives."""
    now_s = look.parts.clock.monotonic_s()
    seen = {}
    for member in look.parts.store.members():
        before, since_s = look.memory.members.get(member.name, (None, now_s))
        seen[member.name] = (member, since_s if member == before else now_s)
    look.memory.members = seen
    silent_s = {name: now_s - since_s for name, (_, since_s) in sorted(seen.items())}
    live = [name for name, silence_s in silent_s.items() if silence_s < SILENT_AFTER_S]
    return WorkerCard(
        as_of=look.as_of,
        workers=[
            WorkerRow(
                name=name,
                live=name in live,
                silent_s=round(silence_s, 1),
                shards=_shards(look, name, live),
                slices=_slices(look.sale, name, live),
            )
            for name, silence_s in silent_s.items()
        ],
    )


def _shards(look: Look, name: str, live: Sequence[str]) -> list[int]:
    event_id = look.sale.event_id
    if name not in live:
        return []
    return [shard for shard in range(look.shards) if owner(shard_task_name(event_id, shard), live) == name]


def _slices(sale: Sale, name: str, live: Sequence[str]) -> list[str]:
    if name not in live:
        return []
    groups = [group for group in range(sale.groups) if owner(group_task_name(sale.event_id, group), live) == name]
    return sorted({f"{pool.pool_id}/{slice_of(pool, group)}" for pool in sale.pools for group in groups})
