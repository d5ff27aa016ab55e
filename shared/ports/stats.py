"""Statistics over the stream of changes: written by the stream consumer, read by operators and the door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shared.domain.stats.mark import Mark
from shared.domain.stats.states import EventStates
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import WindowKey, WindowStats


class StatsStore(Protocol):
    """One item per stream shard and window, spread over as many keys as there are stream shards.

    Every method may raise `Unavailable` and its children; a repeated save whose first answer was lost returns False,
    and what is then read shows whether it was applied (`upto`, `refused`).
    """

    def get_window(self, key: WindowKey) -> WindowStats | None:
        """Read one window, consistently."""
        ...

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        """Replace a window on condition that its stored `rev` is still `seen_rev` (0: nothing is stored)."""
        ...

    def read_windows(self, length_s: int, *, since_ms: int, until_ms: int) -> tuple[WindowStats, ...]:
        """Gather the windows of all stream shards that start at `since_ms` or later and before `until_ms`.

        May lag a moment behind. What is past its time is left out. Reads one query per stream shard that was busy.
        """
        ...

    def get_stream_shard(self, name: str) -> StreamShard | None:
        """Read what is remembered of one stream shard, consistently."""
        ...

    def save_stream_shard(self, stream_shard: StreamShard, *, seen_rev: int) -> bool:
        """Replace it on condition that the stored `rev` is still `seen_rev` (0: nothing is stored)."""
        ...

    def list_stream_shards(self, *, since_ms: int) -> tuple[StreamShard, ...]:
        """List the stream shards with a record in or after the minute of `since_ms`, by name."""
        ...

    def get_states(self, event_id: str, stream_shard: str) -> EventStates | None:
        """Read what one stream shard told of an event's orders, consistently."""
        ...

    def save_states(self, states: EventStates, *, seen_rev: int) -> bool:
        """Replace it on condition that the stored `rev` is still `seen_rev` (0: nothing is stored)."""
        ...

    def list_states(self, event_id: str) -> tuple[EventStates, ...]:
        """Read what all stream shards told of an event's orders; may lag a moment behind."""
        ...

    def mark_buyers(self, marks: Sequence[Mark]) -> None:
        """Store marks, each in place of an older one of the same buyer."""
        ...

    def list_marks(self, *, now_ms: int) -> tuple[Mark, ...]:
        """Read the marks that still hold, by buyer, at most `MAX_MARKS`."""
        ...

    def close(self) -> None:
        """Give back connections and files; further calls raise Unavailable."""
        ...
