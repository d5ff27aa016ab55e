"""Counting a batch into its windows so that every change counts once.

A batch may come again whole, in part, overlapping another, or while the same is still being counted elsewhere. Each
window carries `upto`; one conditional write adds a batch's counts and moves it. Windows are written one after
another: whatever is interrupted between them is completed by the next delivery, for each window knows its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from consumers.stream.counting import count
from consumers.stream.record import Change
from shared.domain.errors import Contended, Unavailable
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import LENGTHS_S, MINUTE_S, WindowKey, WindowStats, window_of
from shared.ports import StatsStore

# Another delivery of the same stream shard is in the way at most now and then; then the event source tries again.
MAX_TRIES = 5


class Incomplete(Unavailable):
    """Part of a batch could not be counted; have these records delivered again."""

    def __init__(self, sequences: frozenset[int]) -> None:
        """Carry the sequence numbers that some window still lacks."""
        super().__init__()
        self.sequences = sequences


def count_once(stats: StatsStore, stream_shard: str, changes: Sequence[Change], unreadable: Mapping[int, str]) -> None:
    """Count a batch; Incomplete says what has to be delivered again, and more than that may be.

    `unreadable` are the batch's sequence numbers that could not be read, with the reasons. They are noted first: a
    window's `upto` then moves past them without their being lost, and if one is read later after all, it is counted.
    """
    windows = _by_window(stream_shard, changes)
    sequences = frozenset(change.sequence for change in changes)
    left = dict(windows)
    try:
        newest_ms = max((key.start_ms for key in windows if key.length_s == MINUTE_S), default=-1)
        shard = _update_shard(stats, stream_shard, lambda stored: stored.seen(newest_ms, unreadable))
        for key, part in windows.items():
            _count_window(stats, key, part, shard.refused)
            del left[key]
        if not sequences.isdisjoint(shard.refused):
            left = dict(windows)
            _update_shard(stats, stream_shard, lambda stored: stored.counted(sequences))
    except Unavailable as error:
        raise Incomplete(frozenset().union(*left.values())) from error


def _by_window(stream_shard: str, changes: Sequence[Change]) -> dict[WindowKey, dict[int, Change]]:
    """Sort changes by window; a number that stands twice in a batch is one change."""
    windows: dict[WindowKey, dict[int, Change]] = {}
    for length_s in LENGTHS_S:
        for change in changes:
            key = window_of(stream_shard, length_s, change.at_ms)
            windows.setdefault(key, {})[change.sequence] = change
    return windows


def _count_window(stats: StatsStore, key: WindowKey, changes: Mapping[int, Change], refused: Mapping[int, str]) -> None:
    for _ in range(MAX_TRIES):
        window = stats.get_window(key) or WindowStats(key)
        new = [change for number, change in changes.items() if window.is_new(number, refused)]
        if not new:
            return
        counted = window.plus(count(new), (change.sequence for change in new), refused)
        if stats.save_window(counted, seen_rev=window.rev):
            return
    raise Contended


def _update_shard(stats: StatsStore, name: str, change: Callable[[StreamShard], StreamShard]) -> StreamShard:
    for _ in range(MAX_TRIES):
        stored = stats.get_stream_shard(name) or StreamShard(name)
        wanted = change(stored)
        if wanted is stored or stats.save_stream_shard(wanted, seen_rev=stored.rev):
            return wanted
    raise Contended
