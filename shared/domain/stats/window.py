"""Counts of one stream shard in one window of time, and what makes each change count once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from shared.domain.stats.top_counts import TopCounts, merge_top

# The lengths of the windows that are kept, in seconds: one to see a peak, one to see a range.
SECOND_S = 1
MINUTE_S = 60
LENGTHS_S = (SECOND_S, MINUTE_S)
# How long windows are kept, in seconds. A stream shows a change for 24 hours; a minute that may still be counted
# into must outlive that. Seconds serve only the latest peak.
KEEP_S: Mapping[int, int] = {SECOND_S: 3_600, MINUTE_S: 48 * 3_600}
# Names kept per window: below one in a thousand of a window's writes is lost to a key, half of one in a hundred to a
# buyer. With names of the usual length an item has about 15 KiB before compression, at most 150 KiB.
MAX_KEYS = 256
MAX_EVENTS = 64
MAX_BUYERS = 200


class WindowKey(Struct, frozen=True, order=True):
    """One window of one stream shard: `length_s` seconds from `start_ms`, a multiple of the length."""

    stream_shard: str
    length_s: int
    start_ms: int

    @property
    def end_ms(self) -> int:
        """The first millisecond after the window."""
        return self.start_ms + self.length_s * 1000

    @property
    def expires_at_ms(self) -> int:
        """When a store may forget it."""
        return self.end_ms + KEEP_S[self.length_s] * 1000


def window_of(stream_shard: str, length_s: int, at_ms: int) -> WindowKey:
    """Return the window that a time falls into."""
    return WindowKey(stream_shard, length_s, at_ms - at_ms % (length_s * 1000))


class Counts(Struct, frozen=True):
    """Changes counted: in all, per composite key, per event, per buyer, and by status (`from>to`)."""

    writes: int = 0
    arrivals: int = 0
    keys: TopCounts = field(default_factory=TopCounts)
    events: TopCounts = field(default_factory=TopCounts)
    buyers: TopCounts = field(default_factory=TopCounts)
    changes: Mapping[str, int] = field(default_factory=dict)

    def bounded(self) -> Counts:
        """Cut back to what an item may hold."""
        return replace(
            self,
            keys=self.keys.cut(MAX_KEYS),
            events=self.events.cut(MAX_EVENTS),
            buyers=self.buyers.cut(MAX_BUYERS),
        )


def add_counts(parts: Iterable[Counts]) -> Counts:
    """Add counts without cutting."""
    all_parts = list(parts)
    changes: dict[str, int] = {}
    for part in all_parts:
        for step, count in part.changes.items():
            changes[step] = changes.get(step, 0) + count
    return Counts(
        writes=sum(part.writes for part in all_parts),
        arrivals=sum(part.arrivals for part in all_parts),
        keys=merge_top(part.keys for part in all_parts),
        events=merge_top(part.events for part in all_parts),
        buyers=merge_top(part.buyers for part in all_parts),
        changes=changes,
    )


class WindowStats(Struct, frozen=True):
    """A window as stored.

    `upto` is the highest sequence number counted: a change at or below it has been counted, or was refused as
    unreadable. `late` are the numbers below it that were counted after a refusal. `rev` counts the writes.
    """

    key: WindowKey
    counts: Counts = field(default_factory=Counts)
    upto: int = 0
    late: frozenset[int] = frozenset()
    rev: int = 0

    def is_new(self, sequence: int, refused: Iterable[int]) -> bool:
        """Say whether the change still has to be counted here; `refused` are the stream shard's unreadable ones."""
        return sequence > self.upto or (sequence in refused and sequence not in self.late)

    def plus(self, counts: Counts, sequences: Iterable[int], refused: Iterable[int]) -> WindowStats:
        """Count changes with these sequence numbers, all of them new here."""
        seen = frozenset(sequences)
        return WindowStats(
            key=self.key,
            counts=add_counts([self.counts, counts]).bounded(),
            upto=max(self.upto, *seen),
            late=self.late | seen.intersection(refused),
            rev=self.rev + 1,
        )
