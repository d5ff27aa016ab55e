"""How many orders of an event stand where, for each of its shards: counted from the stream, each change once.

One value for each event and stream shard. An order's changes may come by several stream shards in its life, so a
single value may be negative; the sum over all of an event's values is exact as far as the stream was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

# Beside the statuses: how many are set aside for a person.
PARKED = "parked"
# What is known of a sale's orders outlives the orders.
KEEP_S = 400 * 86_400

Steps = Mapping[int, Mapping[str, int]]


class EventStates(Struct, frozen=True):
    """Orders by event shard and status; `upto`, `late` and `rev` are what a window has, see `WindowStats`.

    `newest_ms` is the time of the newest change counted.
    """

    event_id: str
    stream_shard: str
    counts: Steps = field(default_factory=dict)
    newest_ms: int = 0
    upto: int = 0
    late: frozenset[int] = frozenset()
    rev: int = 0

    def is_new(self, sequence: int, refused: Iterable[int]) -> bool:
        """Say whether the change still has to be counted here; `refused` are the stream shard's unreadable ones."""
        return sequence > self.upto or (sequence in refused and sequence not in self.late)

    def plus(self, steps: Steps, newest_ms: int, sequences: Iterable[int], refused: Iterable[int]) -> EventStates:
        """Count changes with these sequence numbers, all of them new here."""
        seen = frozenset(sequences)
        return EventStates(
            event_id=self.event_id,
            stream_shard=self.stream_shard,
            counts=add_steps([self.counts, steps]),
            newest_ms=max(self.newest_ms, newest_ms),
            upto=max(self.upto, *seen),
            late=self.late | seen.intersection(refused),
            rev=self.rev + 1,
        )


def add_steps(parts: Iterable[Steps]) -> dict[int, dict[str, int]]:
    """Add counts; what comes to nothing is left out."""
    total: dict[int, dict[str, int]] = {}
    for part in parts:
        for shard, states in part.items():
            row = total.setdefault(shard, {})
            for state, count in states.items():
                row[state] = row.get(state, 0) + count
    kept = {shard: {state: count for state, count in row.items() if count} for shard, row in total.items()}
    return {shard: row for shard, row in kept.items() if row}
