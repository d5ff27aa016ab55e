"""One look at a sale: what the cards read from, and what one look remembers for the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shared.domain.inventory import PoolState
from shared.domain.stats.states import PARKED, EventStates, add_steps
from shared.domain.times import format_time_ms
from shared.ports.control import Member, SaleView

if TYPE_CHECKING:
    from ingest.parts import Parts


class Memory(Struct):
    """What is kept of one event between two looks.

    `members` are the heartbeats with the monotonic second since when each has stood still; `oldest_ms` says when the
    first in a shard's line was accepted, and `next_shard` where the round over the shards goes on.
    """

    members: dict[str, tuple[Member, float]] = field(default_factory=dict)
    pools: dict[str, PoolState] = field(default_factory=dict)
    oldest_ms: dict[int, int | None] = field(default_factory=dict)
    next_shard: int = 0


class Look:
    """One look; what several cards want is read once."""

    def __init__(self, parts: Parts, view: SaleView, memory: Memory) -> None:
        """Look now."""
        self.parts = parts
        self.view = view
        self.sale = view.sale
        self.memory = memory
        self.now_ms = parts.clock.now_ms()
        self._states: Sequence[EventStates] | None = None

    @property
    def as_of(self) -> str:
        """The time of this look, for a card."""
        return format_time_ms(self.now_ms)

    @property
    def shards(self) -> int:
        """Shards that hold orders of the sale under any version of its map."""
        return max(self.sale.shard_counts)

    def states(self) -> Sequence[EventStates]:
        """Return what the stream told of the event's orders: one query."""
        if self._states is None:
            self._states = self.parts.insight.open_stats().list_states(self.sale.event_id)
        return self._states

    def by_shard(self) -> dict[int, dict[str, int]]:
        """Return the event's orders by shard and status; a count below zero is a change that came before its other."""
        return add_steps(states.counts for states in self.states())

    def by_status(self) -> dict[str, int]:
        """Return the event's orders by status; those set aside are counted once more under PARKED."""
        totals: dict[str, int] = {}
        for row in self.by_shard().values():
            for state, count in row.items():
                totals[state] = totals.get(state, 0) + count
        return {state: max(0, count) for state, count in sorted(totals.items())}

    def parked_by_shard(self) -> dict[int, int]:
        """Return how many orders are set aside, by shard."""
        return {shard: row[PARKED] for shard, row in sorted(self.by_shard().items()) if row.get(PARKED, 0) > 0}
