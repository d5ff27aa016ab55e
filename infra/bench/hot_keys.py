"""How fast, in how much memory and how exactly the stream consumer counts.

Every batch goes through the Lambda handler into a SQLite store on disk. One batch in seven is delivered twice, one in
five begins with the last records of the one before. The answer is compared with a recount kept by the generator.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from aws_lambda_powertools import Logger

from consumers.stream.handler import handle
from infra.bench.hot_key_stream import STREAM_SHARDS, Books, Stream
from shared.domain.stats.window import LENGTHS_S, MAX_BUYERS, MINUTE_S, Counts, add_counts
from shared.ports.stats import StatsStore
from shared.stores.sqlite.stats import SqliteStats
from shared.system import SystemClock

# A Lambda batch has at most 10,000 records and 6 MB; with two images each, about this many.
BATCH = 1_000
# The stream's pace in its own time.
RECORDS_PER_S = 10_000
TWICE_EVERY = 7
OVERLAP_EVERY = 5
OVERLAP = 200
TOP = 20

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured.

    `records_per_s` counts distinct records over the time spent in the handler. `count_difference` sums what every
    exact count (writes, arrivals, steps, keys, events; both window lengths) is off. `top_within_bound` says whether
    each of the TOP truly heaviest buyers has between the reported count and that plus `bound` records, and `bound` is
    within what the summary promises. `rss_mb` is the process's highest, generator included.
    """

    records: int
    buyers: int
    deliveries: int
    delivered: int
    handler_s: float
    records_per_s: float
    rss_mb: float
    count_difference: int
    top: int
    top_within_bound: bool
    top_found: int
    bound: int


def run(*, records: int, buyers: int, skew: float, seed: int, progress: Progress) -> Figures:
    """Make, deliver, count and compare."""
    clock = SystemClock()
    start_ms = clock.now_ms()
    stream = Stream(buyers=buyers, skew=skew, seed=seed)
    with tempfile.TemporaryDirectory(prefix="onsale-bench-") as folder:
        stats = SqliteStats(folder, clock)
        try:
            delivery = _Delivery(stats)
            for done in range(0, records, RECORDS_PER_S):
                count = min(RECORDS_PER_S, records - done)
                at_ms = start_ms + done * 1000 // RECORDS_PER_S
                for stream_shard, record in stream.records(count, at_ms):
                    delivery.add(stream_shard, record)
                progress(count)
            delivery.flush()
            end_ms = start_ms + 1000 + records * 1000 // RECORDS_PER_S
            rss_mb = _rss_mb()
            by_length = {
                length_s: add_counts(
                    window.counts
                    for window in stats.read_windows(length_s, since_ms=start_ms - MINUTE_S * 1000, until_ms=end_ms + 1)
                )
                for length_s in LENGTHS_S
            }
        finally:
            stats.close()
    buyers_top = by_length[MINUTE_S].buyers
    heaviest = stream.books.buyers.most_common(TOP)
    kept = {name: row.writes for name, row in buyers_top.rows.items()}
    return Figures(
        records=records,
        buyers=buyers,
        deliveries=delivery.deliveries,
        delivered=delivery.delivered,
        handler_s=round(delivery.handler_s, 3),
        records_per_s=round(records / delivery.handler_s, 1),
        rss_mb=round(rss_mb, 1),
        count_difference=sum(difference(counts, stream.books) for counts in by_length.values()),
        top=TOP,
        top_within_bound=buyers_top.missed * (MAX_BUYERS + 1) <= stream.books.writes
        and all(kept.get(name, 0) <= true <= kept.get(name, 0) + buyers_top.missed for name, true in heaviest),
        top_found=len({name for name, _ in heaviest} & {name for name, _ in buyers_top.top(TOP)}),
        bound=buyers_top.missed,
    )


def figures_value(figures: Figures) -> dict[str, Any]:
    """Write the figures for JSON."""
    return asdict(figures)


def difference(counts: Counts, books: Books) -> int:
    """Sum up by how much the exact counts are off."""
    off = abs(counts.writes - books.writes) + abs(counts.arrivals - books.arrivals)
    pairs: list[tuple[dict[str, int], dict[str, int]]] = [
        (dict(counts.changes), books.steps),
        ({name: row.writes for name, row in counts.keys.rows.items()}, books.keys),
        ({name: row.writes for name, row in counts.events.rows.items()}, books.events),
    ]
    return off + sum(
        abs(found.get(name, 0) - true.get(name, 0)) for found, true in pairs for name in found.keys() | true.keys()
    )


class _Delivery:
    """Collects records into batches and delivers them, some twice, some overlapping."""

    def __init__(self, stats: StatsStore) -> None:
        self._stats = stats
        self._logger = Logger(service="onsale-bench")
        self._waiting: list[list[dict[str, Any]]] = [[] for _ in range(STREAM_SHARDS)]
        self._last: list[list[dict[str, Any]]] = [[] for _ in range(STREAM_SHARDS)]
        self._batches = 0
        self.deliveries = 0
        self.delivered = 0
        self.handler_s = 0.0

    def add(self, stream_shard: int, record: dict[str, Any]) -> None:
        waiting = self._waiting[stream_shard]
        waiting.append(record)
        if len(waiting) >= BATCH:
            self._deliver(stream_shard)

    def flush(self) -> None:
        for stream_shard in range(STREAM_SHARDS):
            self._deliver(stream_shard)

    def _deliver(self, stream_shard: int) -> None:
        batch = self._waiting[stream_shard]
        self._waiting[stream_shard] = []
        self._batches += 1
        again = self._last[stream_shard] if self._batches % OVERLAP_EVERY == 0 else []
        self._last[stream_shard] = batch[-OVERLAP:]
        self._hand_over(stream_shard, again + batch)
        if self._batches % TWICE_EVERY == 0:
            self._hand_over(stream_shard, batch)

    def _hand_over(self, stream_shard: int, batch: list[dict[str, Any]]) -> None:
        event = {"Records": batch, "shardId": f"shardId-{stream_shard:020d}"}
        begun_s = time.perf_counter()
        answer = handle(event, self._stats, self._logger)
        self.handler_s += time.perf_counter() - begun_s
        self.deliveries += 1
        self.delivered += len(batch)
        if answer["batchItemFailures"]:
            raise AssertionError("the statistics' store failed during the measurement")


def _rss_mb() -> float:
    """Return the highest resident size so far; kilobytes on Linux, bytes on macOS (getrusage)."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)
