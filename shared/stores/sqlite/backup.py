"""Backups of the SQLite store: rows as items, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from shared.domain.order_id import partition_key
from shared.ports.backup import Item, ItemPage
from shared.stores.sqlite.codec import decode, encode
from shared.stores.sqlite.database import Database
from shared.stores.sqlite.store import FILE_NAME

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from shared.domain.inventory import PoolState
    from shared.ports.system import Clock

_READ = "SELECT sk, item FROM orders WHERE pk = ? AND sk > ? ORDER BY sk LIMIT ?"
_PUT = (
    "INSERT INTO orders (pk, sk, rev, work, item) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (pk, sk) DO UPDATE SET rev = excluded.rev, work = excluded.work, item = excluded.item"
)
_POOL = (
    "INSERT OR REPLACE INTO pools (event_id, pool_id, capacity, unassigned, withheld, round, sold_out, version)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SLICE = "INSERT OR REPLACE INTO slices (event_id, pool_id, slice_no, unsold, taken, version) VALUES (?, ?, ?, ?, ?, ?)"
_COUNT = "INSERT OR REPLACE INTO buyers (event_id, buyer_id, tickets) VALUES (?, ?, ?)"


class SqliteBackup:
    """Implements `BackupStore` over one file; what it writes leaves no trace in the change log."""

    def __init__(self, database: Database) -> None:
        """Work on an open database."""
        self._database = database

    @classmethod
    def open(cls, folder: Path | str, clock: Clock) -> Self:
        """Open the file in `folder`, both made if absent."""
        return cls(Database(Path(folder) / FILE_NAME, clock))

    def read_items(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> ItemPage:
        key = (partition_key(event_id, shard), cursor or "", limit)
        rows = self._database.read(lambda connection: connection.execute(_READ, key).fetchall())
        items = tuple(decode(text) for _, text in rows)
        return ItemPage(items, rows[-1][0] if len(rows) == limit else None)

    def put_items(self, items: Sequence[Item]) -> None:
        rows = [(item["pk"], item["sk"], item.get("rev", 0), item.get("work"), encode(item)) for item in items]
        self._database.write(lambda connection: connection.executemany(_PUT, rows))

    def put_pools(self, event_id: str, pools: Sequence[PoolState]) -> None:
        rows = [
            (
                event_id,
                pool.pool_id,
                pool.capacity,
                pool.unassigned,
                pool.withheld,
                pool.round,
                int(pool.sold_out),
                pool.version,
            )
            for pool in pools
        ]
        slices = [
            (event_id, pool.pool_id, part.slice_no, part.unsold, part.taken, part.version)
            for pool in pools
            for part in pool.slices
        ]

        def put(connection: sqlite3.Connection) -> None:
            connection.executemany(_POOL, rows)
            connection.executemany(_SLICE, slices)

        self._database.write(put)

    def put_counts(self, event_id: str, counts: Mapping[str, int]) -> None:
        rows = [(event_id, buyer, taken) for buyer, taken in counts.items()]
        self._database.write(lambda connection: connection.executemany(_COUNT, rows))

    def close(self) -> None:
        self._database.close()
