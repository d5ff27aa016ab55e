"""From windows to a report: which keys, events and buyers are hot, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from shared.domain.sale import MAX_SHARDS
from shared.domain.stats.key_patterns import MAX_SHARE, Flag, find_patterns
from shared.domain.stats.shard_advice import MIN_PARTITIONS, Advice, advise, units_per_write
from shared.domain.stats.skew import Skew, skew_of
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import Counts, WindowStats, add_counts


class Hot(Struct, frozen=True):
    """One name among the hottest. The true number of writes lies between `writes` and `writes_at_most`."""

    name: str
    writes: int
    writes_at_most: int
    arrivals: int
    depth: int
    share: float

    @property
    def above_share(self) -> bool:
        """Say whether it takes more than a tenth of all writes."""
        return self.share > MAX_SHARE


class Ranking(Struct, frozen=True):
    """The hottest names of one kind, and by how much any count may be too low."""

    top: tuple[Hot, ...]
    missed: int


class Refused(Struct, frozen=True):
    """A record that could not be read and was not counted."""

    stream_shard: str
    sequence: int
    why: str


class HotKeyReport(Struct, frozen=True):
    """What a range of time shows. `newest_ms` is the end of the newest window, None when there is none."""

    since_ms: int
    until_ms: int
    newest_ms: int | None
    stream_shards: int
    writes: int
    arrivals: int
    keys: Ranking
    events: Ranking
    buyers: Ranking
    changes: Mapping[str, int]
    skew: Mapping[str, Skew]
    flags: tuple[Flag, ...]
    advice: tuple[Advice, ...]
    refused: tuple[Refused, ...]
    refused_total: int


class Gathered(Struct, frozen=True):
    """What was read for a report: windows of the range, seconds around its peak, and the stream shards."""

    since_ms: int
    until_ms: int
    windows: Sequence[WindowStats]
    seconds: Sequence[WindowStats]
    stream_shards: Sequence[StreamShard]


def report_hot_keys(gathered: Gathered, *, top: int, shards_of: Mapping[str, int]) -> HotKeyReport:
    """Rank, compare and advise. `shards_of` has the shard counts of known events; others are read off their keys."""
    windows = gathered.windows
    counts = add_counts(window.counts for window in windows)
    partitions = max(MIN_PARTITIONS, _most_stream_shards(windows))
    orders = orders_by_shard(counts.keys, shards_of)
    skew = {event_id: found for event_id in orders if (found := skew_of(orders[event_id])) is not None}
    busiest = busiest_second(gathered.seconds or windows)
    factor = units_per_write(counts.changes, counts.writes)
    advice = (
        advise(
            event_id,
            peak_units_per_s=per_s * factor,
            shards=shards_of.get(event_id, len(orders.get(event_id, ())) or 1),
            partitions=partitions,
        )
        for event_id, per_s in sorted(busiest.items())
    )
    refused = [
        Refused(shard.name, sequence, why)
        for shard in gathered.stream_shards
        for sequence, why in sorted(shard.refused.items())
    ]
    return HotKeyReport(
        since_ms=gathered.since_ms,
        until_ms=gathered.until_ms,
        newest_ms=max((window.key.end_ms for window in windows), default=None),
        stream_shards=len({window.key.stream_shard for window in windows}),
        writes=counts.writes,
        arrivals=counts.arrivals,
        keys=_rank(counts.keys, counts, top),
        events=_rank(counts.events, counts, top),
        buyers=_rank(counts.buyers, counts, top),
        changes=dict(sorted(counts.changes.items())),
        skew=skew,
        flags=find_patterns(counts.keys.rows, writes=counts.writes, partitions=partitions, now_ms=gathered.until_ms),
        advice=tuple(found for found in advice if found is not None),
        refused=tuple(refused),
        refused_total=sum(shard.refused_total for shard in gathered.stream_shards),
    )


def busiest_second(windows: Iterable[WindowStats]) -> dict[str, float]:
    """Return each event's most writes a second over the windows, which are of one length, of any stream shards."""
    sums: dict[tuple[int, str], float] = {}
    for window in windows:
        for event_id, row in window.counts.events.rows.items():
            moment = window.key.start_ms, event_id
            sums[moment] = sums.get(moment, 0.0) + row.writes / window.key.length_s
    peaks: dict[str, float] = {}
    for (_, event_id), per_s in sums.items():
        peaks[event_id] = max(per_s, peaks.get(event_id, 0))
    return peaks


def _rank(names: TopCounts, counts: Counts, top: int) -> Ranking:
    def hot(name: str, row: Row) -> Hot:
        share = row.writes / counts.writes if counts.writes else 0.0
        return Hot(name, row.writes, row.writes + names.missed, row.arrivals, row.depth, share)

    return Ranking(tuple(hot(name, row) for name, row in names.top(top)), names.missed)


def orders_by_shard(keys: TopCounts, shards_of: Mapping[str, int]) -> dict[str, list[int]]:
    """List each event's arrivals shard by shard, with a zero for shards that had none."""
    found: dict[str, dict[int, int]] = {}
    for name, row in keys.rows.items():
        event_id, _, shard = name.rpartition("#")
        if event_id and shard.isascii() and shard.isdigit() and int(shard) < MAX_SHARDS:
            found.setdefault(event_id, {})[int(shard)] = row.arrivals
    return {
        event_id: [rows.get(shard, 0) for shard in range(max(shards_of.get(event_id, 0), max(rows) + 1))]
        for event_id, rows in found.items()
    }


def _most_stream_shards(windows: Iterable[WindowStats]) -> int:
    """Count the stream shards of the busiest moment: a table has about as many partitions as open stream shards.

    Source: "Change data capture for DynamoDB Streams": a stream shard's lifetime follows its partition's.
    """
    at_once = Counter(window.key.start_ms for window in windows)
    return max(at_once.values(), default=0)
