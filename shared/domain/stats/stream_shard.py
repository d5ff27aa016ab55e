"""What is remembered of one stream shard: that it exists, and which of its records could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

# Unreadable records listed by number; older ones are only counted.
MAX_REFUSED = 200


class StreamShard(Struct, frozen=True):
    """One stream shard.

    `newest_ms` is the start of the newest minute with a readable record, -1 before the first. `refused` maps sequence
    numbers of records that could not be read to the reason; they end where the event source sends what it gives up.
    `refused_total` counts them all, `refused_upto` is the highest one ever refused, `rev` counts the writes.
    """

    name: str
    newest_ms: int = -1
    refused: Mapping[int, str] = field(default_factory=dict)
    refused_total: int = 0
    refused_upto: int = 0
    rev: int = 0

    def seen(self, newest_ms: int, unreadable: Mapping[int, str]) -> StreamShard:
        """Note a batch's newest minute and its unreadable records; the same object when nothing is new."""
        new = {number: why for number, why in unreadable.items() if number > self.refused_upto}
        if not new and newest_ms <= self.newest_ms:
            return self
        listed = {**self.refused, **new}
        return replace(
            self,
            newest_ms=max(self.newest_ms, newest_ms),
            refused={number: listed[number] for number in sorted(listed)[-MAX_REFUSED:]},
            refused_total=self.refused_total + len(new),
            refused_upto=max(self.refused_upto, *new) if new else self.refused_upto,
            rev=self.rev + 1,
        )

    def counted(self, sequences: Iterable[int]) -> StreamShard:
        """Strike out refused records that have been counted after all; the same object when there are none."""
        found = self.refused.keys() & set(sequences)
        if not found:
            return self
        return replace(
            self,
            refused={number: why for number, why in self.refused.items() if number not in found},
            refused_total=self.refused_total - len(found),
            rev=self.rev + 1,
        )
