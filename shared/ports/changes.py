"""The stream of changes, as the local pump reads it."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

# A change of one stored item in the shape of a DynamoDB stream record (`eventID`, `eventName`, `eventSourceARN`,
# `dynamodb: {Keys, NewImage?, OldImage?, SequenceNumber, ApproximateCreationDateTime, StreamViewType}`).
StreamRecord = dict[str, Any]


class StreamPage(Struct, frozen=True):
    """Records of one stream shard in order; `cursor` is where to go on, None once the stream shard has ended."""

    records: tuple[StreamRecord, ...]
    cursor: str | None


class ChangeLog(Protocol):
    """The stream of changes to orders, cut into stream shards; read by the local pump only."""

    def stream_shards(self) -> tuple[str, ...]:
        """Return the stream shards' names, parents before children."""
        ...

    def read_changes(self, stream_shard: str, *, cursor: str | None, limit: int) -> StreamPage:
        """Read on from `cursor` (None: from the oldest record kept)."""
        ...
