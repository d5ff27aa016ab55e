"""How long the lines are, how old their heads, and what stands at them: at a bounded price for every look.

Depths are counted from the work index, which lists orders by their own time, so an order that cannot be worked on
hides nobody behind it; a shard that does not answer is named and hides no other. How many orders stand in each status
is what the stream has counted, with the time of the newest change in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field
from msgspec.structs import replace

from ingest.change_sale import standing_sale
from ingest.parked_orders import shards_of
from ingest.parts import Parts
from shared.domain.errors import NotFound, Unavailable
from shared.domain.order import Lane, WorkHint
from shared.domain.sale import Sale
from shared.domain.stats.states import add_steps
from shared.domain.times import MAX_TIME_MS

# Entries of one lane that one look counts in all, shared by the sale's shards.
DEPTH_BUDGET = 4_000
MIN_DEPTH = 16
FAN_OUT = 8
MAX_PEEK = 100
_NO_SHARD = "The sale has no such shard."


class LaneLook(Struct, frozen=True):
    """One shard's lane: entries counted up to the look's `most`, and the time of the earliest (None: empty)."""

    depth: int
    capped: bool
    oldest_ms: int | None


class ShardLook(Struct, frozen=True):
    """One shard; `lanes` is None when it did not answer, `states` when nothing was counted."""

    shard: int
    lanes: Mapping[Lane, LaneLook] | None
    states: Mapping[str, int] = field(default_factory=dict)


class QueueLook(Struct, frozen=True):
    """One look at all shards. `states_ms` is the newest change in the counts by status, None without any."""

    event_id: str
    at_ms: int
    most: int
    shards: tuple[ShardLook, ...]
    states_ms: int | None


def look_at_queue(parts: Parts, event_id: str) -> QueueLook:
    """Look at every shard of a sale: NotFound when there is none; Unavailable when no shard answers."""
    sale = standing_sale(parts, event_id).sale
    most = max(MIN_DEPTH, DEPTH_BUDGET // len(shards_of(sale)))
    at_ms = parts.clock.now_ms()
    with ThreadPoolExecutor(FAN_OUT, thread_name_prefix="look") as threads:
        shards = list(threads.map(lambda shard: _look(parts, event_id, shard, most), shards_of(sale)))
    if all(shard.lanes is None for shard in shards):
        raise Unavailable
    counts, states_ms = _states(parts, event_id)
    return QueueLook(
        event_id,
        at_ms,
        most,
        tuple(replace(shard, states=counts.get(shard.shard, {})) for shard in shards),
        states_ms,
    )


def peek(parts: Parts, event_id: str, lane: Lane, *, shard: int | None, limit: int) -> tuple[list[WorkHint], list[int]]:
    """Return the first entries of a lane, of one shard or of all, and the shards that did not answer.

    Nothing is taken, and no order is read: the index may be a moment behind, and shows what never changes.
    """
    sale = standing_sale(parts, event_id).sale
    wanted = _wanted(sale, shard)

    def read(number: int) -> tuple[WorkHint, ...] | None:
        try:
            return parts.store.due(event_id, number, lane, until_ms=MAX_TIME_MS, limit=limit).hints
        except Unavailable:
            return None

    with ThreadPoolExecutor(FAN_OUT, thread_name_prefix="peek") as threads:
        pages = list(zip(wanted, threads.map(read, wanted), strict=True))
    silent = [number for number, hints in pages if hints is None]
    if len(silent) == len(wanted):
        raise Unavailable
    found = [hint for _, hints in pages for hint in hints or ()]
    return sorted(found, key=lambda hint: (hint.at_ms, hint.key.order_id))[:limit], silent


def _wanted(sale: Sale, shard: int | None) -> range:
    if shard is None:
        return shards_of(sale)
    if shard not in shards_of(sale):
        raise NotFound(_NO_SHARD)
    return range(shard, shard + 1)


def _look(parts: Parts, event_id: str, shard: int, most: int) -> ShardLook:
    try:
        return ShardLook(shard, {lane: _look_at_lane(parts, event_id, shard, lane, most) for lane in Lane})
    except Unavailable:
        return ShardLook(shard, None)


def _look_at_lane(parts: Parts, event_id: str, shard: int, lane: Lane, most: int) -> LaneLook:
    """Read the head; only a lane that has one is counted."""
    head = parts.store.due(event_id, shard, lane, until_ms=MAX_TIME_MS, limit=1)
    if not head.hints and head.cursor is None:
        return LaneLook(0, capped=False, oldest_ms=None)
    depth = parts.store.depth(event_id, shard, lane, most=most)
    oldest_ms = head.hints[0].at_ms if head.hints else None
    return LaneLook(max(depth, len(head.hints)), capped=depth >= most, oldest_ms=oldest_ms)


def _states(parts: Parts, event_id: str) -> tuple[dict[int, dict[str, int]], int | None]:
    """Return the counts by shard and status, or none when the statistics do not answer."""
    try:
        states = parts.insight.open_stats().list_states(event_id)
    except Unavailable:
        return {}, None
    return add_steps(part.counts for part in states), max((part.newest_ms for part in states), default=None)
