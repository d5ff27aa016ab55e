"""Counting a batch into its windows so that every change counts once.

A batch may come again whole, in part, overlapping another, or while the same is still being counted elsewhere. Each
window carries `upto`; one conditional write adds a batch's counts and moves it. Windows are written one after
another, and then how many orders of each event stand where: whatever is interrupted between them is completed by the
next delivery, for each knows its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from consumers.stream.counting import count, count_states
from consumers.stream.record import Change
from shared.domain.errors import Contended, Unavailable
from shared.domain.stats.states import EventStates
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import LENGTHS_S, MINUTE_S, WindowKey, WindowStats, window_of
from shared.ports.stats import StatsStore

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
    events = _by_event(changes)
    sequences = frozenset(change.sequence for change in changes)
    left = _everything(windows, events)
    try:
        newest_ms = max((key.start_ms for key in windows if key.length_s == MINUTE_S), default=-1)
        shard = _update_shard(stats, stream_shard, lambda stored: stored.seen(newest_ms, unreadable))
        for key, part in windows.items():
            _count_window(stats, key, part, shard.refused)
            del left[key]
        for event_id, part in events.items():
            _count_states(stats, event_id, stream_shard, part, shard.refused)
            del left[event_id]
        if not sequences.isdisjoint(shard.refused):
            left = _everything(windows, events)
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


def _everything(
    windows: Mapping[WindowKey, dict[int, Change]], events: Mapping[str, dict[int, Change]]
) -> dict[WindowKey | str, dict[int, Change]]:
    everything: dict[WindowKey | str, dict[int, Change]] = dict(windows.items())
    everything.update(events.items())
    return everything


def _by_event(changes: Sequence[Change]) -> dict[str, dict[int, Change]]:
    """Sort the changes of orders by event."""
    events: dict[str, dict[int, Change]] = {}
    for change in changes:
        if change.event_id is not None and change.after is not None:
            events.setdefault(change.event_id, {})[change.sequence] = change
    return events


def _count_states(
    stats: StatsStore, event_id: str, stream_shard: str, changes: Mapping[int, Change], refused: Mapping[int, str]
) -> None:
    for _ in range(MAX_TRIES):
        states = stats.get_states(event_id, stream_shard) or EventStates(event_id, stream_shard)
        new = [change for number, change in changes.items() if states.is_new(number, refused)]
        if not new:
            return
        newest_ms = max(change.at_ms for change in new)
        counted = states.plus(count_states(new), newest_ms, (change.sequence for change in new), refused)
        if stats.save_states(counted, seen_rev=states.rev):
            return
    raise Contended


def _update_shard(stats: StatsStore, name: str, change: Callable[[StreamShard], StreamShard]) -> StreamShard:
    for _ in range(MAX_TRIES):
        stored = stats.get_stream_shard(name) or StreamShard(name)
        wanted = change(stored)
        if wanted is stored or stats.save_stream_shard(wanted, seen_rev=stored.rev):
            return wanted
    raise Contended
