"""The whole store over one SQLite file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shared.stores.sqlite.control import SqliteControl
from shared.stores.sqlite.database import Database
from shared.stores.sqlite.inventory import SqliteInventory
from shared.stores.sqlite.orders import SqliteOrders
from shared.stores.sqlite.stream import SqliteChanges
from shared.system import THREADS

if TYPE_CHECKING:
    from shared.ports.system import Clock, Waiting

FILE_NAME = "onsale.db"


class SqliteStore(SqliteOrders, SqliteInventory, SqliteControl, SqliteChanges):
    """Store and ChangeLog in one, safe for any number of threads and of processes over one file."""

    def __init__(
        self,
        folder: Path | str | None,
        clock: Clock,
        *,
        table: str = "onsale-local-orders",
        region: str = "us-east-1",
        waiting: Waiting = THREADS,
    ) -> None:
        """Open `onsale.db` in `folder`, both made if absent; None keeps everything in memory, for one process.

        `table` and `region` are what the change log's records name; callers wait for each other by `waiting`.
        Raises Unavailable or Broken with what to do.
        """
        path = None if folder is None else Path(folder) / FILE_NAME
        super().__init__(Database(path, clock, waiting), clock, table=table, region=region)

    def close(self) -> None:
        self._database.close()
