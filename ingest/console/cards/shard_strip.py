"""The event's shards side by side: depth, age of the first in line, arrivals."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import ShardCard
from shared.domain.order import Lane, Status
from shared.domain.stats.window import SECOND_S, add_counts
from shared.domain.times import MAX_TIME_MS

# Shards whose first in line is read for one card: the others' are as old as one round over all of them.
LOOKS = 32
OVER_S = 10
# What the stream has not counted yet is left out on both ends.
LAG_S = 1


def shard_card(look: Look) -> ShardCard:
    """Read the counts by one query, the arrivals by one for each busy stream shard, and at most LOOKS first orders."""
    rows = look.by_shard()
    depth = [max(0, rows.get(shard, {}).get(Status.QUEUED, 0)) for shard in range(look.shards)]
    looked_at = _look_at_heads(look, depth)
    heads = look.memory.oldest_ms
    return ShardCard(
        as_of=look.as_of,
        shards=look.shards,
        depth=depth,
        oldest_s=[_age_s(look, heads.get(shard)) if depth[shard] else None for shard in range(look.shards)],
        arrivals_per_s=_arrivals(look),
        over_s=OVER_S,
        looked_at=looked_at,
    )


def _look_at_heads(look: Look, depth: list[int]) -> int:
    """Go on with the round over those shards in which somebody waits; return how many were read."""
    waiting = [shard for shard, count in enumerate(depth) if count]
    at = next((n for n, shard in enumerate(waiting) if shard >= look.memory.next_shard), 0)
    for shard in (waiting[at:] + waiting[:at])[:LOOKS]:
        page = look.parts.store.due(look.sale.event_id, shard, Lane.LINE, until_ms=MAX_TIME_MS, limit=1)
        look.memory.oldest_ms[shard] = page.hints[0].accepted_at_ms if page.hints else None
        look.memory.next_shard = shard + 1
    return min(LOOKS, len(waiting))


def _age_s(look: Look, at_ms: int | None) -> float | None:
    return None if at_ms is None else max(0, look.now_ms - at_ms) / 1000


def _arrivals(look: Look) -> list[float]:
    until_ms = look.now_ms - LAG_S * 1000
    windows = look.parts.insight.open_stats().read_windows(
        SECOND_S, since_ms=until_ms - OVER_S * 1000, until_ms=until_ms
    )
    rows = add_counts(window.counts for window in windows).keys.rows
    found = (rows.get(f"{look.sale.event_id}#{shard}") for shard in range(look.shards))
    return [0.0 if row is None else row.arrivals / OVER_S for row in found]
