"""The change log of orders in SQLite, read as stream shards in the shape of DynamoDB Streams.

The log is one sequence. A stream shard is a range of key hashes over a stretch of it, so splitting one writes three
rows and moves nothing.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.domain.errors import NotFound
from shared.ports.changes import StreamPage, StreamRecord
from shared.stores.sqlite.codec import decode
from shared.stores.sqlite.part import Part
from shared.stores.wire import to_wire

if TYPE_CHECKING:
    import sqlite3

    from shared.ports.system import Clock
    from shared.stores.sqlite.database import Database

# What DynamoDB Streams keeps.
KEPT_MS = 24 * 60 * 60 * 1000
_TRIMMED_AT_ONCE = 5_000
_SHARD = "SELECT id, low, high, after_seq, until_seq FROM stream_shards"
# The highest number ever given, which trimming does not lower.
_LAST = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'"
_RECORDS = (
    "SELECT seq, at_ms, old, new FROM changes"
    " WHERE seq > ? AND seq <= ? AND bucket BETWEEN ? AND ? ORDER BY seq LIMIT ?"
)
_ADD_SHARD = "INSERT INTO stream_shards (low, high, after_seq) VALUES (?, ?, ?)"
_TRIM = "DELETE FROM changes WHERE seq IN (SELECT seq FROM changes ORDER BY seq LIMIT ?) AND at_ms < ?"
# Sequence numbers have at least 21 digits; see "StreamRecord" in the DynamoDB Streams API reference.
_FIRST_SEQUENCE_NUMBER = 10**20


class _Shard(NamedTuple):
    shard_id: int
    low: int
    high: int
    after_seq: int
    until_seq: int | None

    @property
    def name(self) -> str:
        return f"shardId-{self.after_seq:020d}-{self.shard_id:08d}"


class SqliteChanges(Part):
    """The change log over one database; `table` and `region` make up the source that its records name."""

    def __init__(self, database: Database, clock: Clock, *, table: str, region: str) -> None:
        """Read the log of `database`."""
        super().__init__(database, clock)
        label = database.read(
            lambda connection: connection.execute("SELECT value FROM about WHERE name = 'created'").fetchone()[0]
        )
        self._region = region
        self.stream_arn = f"arn:aws:dynamodb:{region}:000000000000:table/{table}/stream/{label}"
        self._again: dict[str, int] = {}

    def stream_shards(self) -> tuple[str, ...]:
        rows = self._database.read(lambda connection: connection.execute(f"{_SHARD} ORDER BY id").fetchall())
        return tuple(_Shard(*row).name for row in rows)

    def read_changes(self, stream_shard: str, *, cursor: str | None, limit: int) -> StreamPage:
        seen = int(cursor) if cursor is not None else 0
        seen = self._again.pop(stream_shard, seen)

        def page(connection: sqlite3.Connection) -> StreamPage:
            shard = _find(connection, stream_shard)
            # Read before the records: what is written between the two reads is met again by the next call.
            last = connection.execute(_LAST).fetchone()[0] if shard.until_seq is None else shard.until_seq
            after = max(seen, shard.after_seq)
            rows = connection.execute(_RECORDS, (after, last, shard.low, shard.high, limit)).fetchall()
            ended = len(rows) < limit
            position = max(after, last) if ended else rows[-1][0]
            records = tuple(self._record(*row) for row in rows)
            return StreamPage(records, None if ended and shard.until_seq is not None else str(position))

        return self._database.read(page)

    def split_stream_shard(self, stream_shard: str) -> None:
        """End an open stream shard; two children go on with half of its keys each."""

        def split(connection: sqlite3.Connection) -> None:
            shard = _find(connection, stream_shard)
            last = connection.execute(_LAST).fetchone()[0]
            ended = "UPDATE stream_shards SET until_seq = ? WHERE id = ? AND until_seq IS NULL"
            if connection.execute(ended, (last, shard.shard_id)).rowcount:
                middle = (shard.low + shard.high) // 2
                connection.execute(_ADD_SHARD, (shard.low, middle, last))
                connection.execute(_ADD_SHARD, (middle + 1, shard.high, last))

        self._database.write(split)

    def redeliver(self, stream_shard: str, *, since: str | None = None) -> None:
        """Let this process's next read of a stream shard begin again at an earlier cursor (None: at its beginning)."""
        self._again[stream_shard] = int(since) if since is not None else 0

    def trim_changes(self) -> int:
        """Forget changes older than a day, some thousands a transaction; return how many."""
        before_ms = self._clock.now_ms() - KEPT_MS
        trimmed = 0
        while count := self._database.write(
            lambda connection: connection.execute(_TRIM, (_TRIMMED_AT_ONCE, before_ms)).rowcount
        ):
            trimmed += count
        return trimmed

    def _record(self, seq: int, at_ms: int, old: str | None, new: str | None) -> StreamRecord:
        images: dict[str, Any] = {}
        if new is not None:
            images["NewImage"] = to_wire(decode(new))
        if old is not None:
            images["OldImage"] = to_wire(decode(old))
        image = images.get("NewImage") or images["OldImage"]
        return {
            "eventID": hashlib.md5(f"{self.stream_arn}/{seq}".encode(), usedforsecurity=False).hexdigest(),
            "eventName": "INSERT" if old is None else "MODIFY" if new is not None else "REMOVE",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            "dynamodb": {
                "ApproximateCreationDateTime": float(at_ms // 1000),
                "Keys": {"pk": image["pk"], "sk": image["sk"]},
                **images,
                "SequenceNumber": str(_FIRST_SEQUENCE_NUMBER + seq),
                "SizeBytes": len((new or "").encode()) + len((old or "").encode()),
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": self.stream_arn,
        }


def _find(connection: sqlite3.Connection, stream_shard: str) -> _Shard:
    shard_id = stream_shard.rpartition("-")[2]
    row = connection.execute(f"{_SHARD} WHERE id = ?", (shard_id,)).fetchone()
    if row is None or _Shard(*row).name != stream_shard:
        raise NotFound(f"There is no stream shard {stream_shard!r}.")
    return _Shard(*row)
