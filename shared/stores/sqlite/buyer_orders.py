"""Buyers' copies of their orders in a SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from shared.domain.errors import Unavailable
from shared.ports.buyer_orders import BuyerOrder, BuyerOrderPage
from shared.stores.buyer_order_items import buyer_order_item, check_cursor, check_put, read_buyer_order
from shared.stores.limits import check_item
from shared.stores.sqlite.codec import decode, encode
from shared.stores.sqlite.connections import connect_beside
from shared.stores.sqlite.errors import translate

FILE_NAME = "buyer-orders.db"
_PUT = (
    "INSERT INTO copies (buyer_id, sk, rev, item) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (buyer_id, sk) DO UPDATE SET rev = excluded.rev, item = excluded.item WHERE excluded.rev > rev"
)
# The sign after `:` is above every digit, so the first page begins at the newest.
_FROM_NEWEST = ":"
_LIST = "SELECT sk, item FROM copies WHERE buyer_id = ? AND sk < ? ORDER BY sk DESC LIMIT ?"
_NOTE = (
    "INSERT INTO progress (stream_shard, newest_ms) VALUES (?, ?)"
    " ON CONFLICT (stream_shard) DO UPDATE SET newest_ms = excluded.newest_ms WHERE excluded.newest_ms > newest_ms"
)


class SqliteBuyerOrders:
    """Implements `BuyerOrdersStore` over one file; safe to share between threads, and the file between processes."""

    def __init__(self, folder: Path | str | None) -> None:
        """Open `buyer-orders.db` in `folder`, both made if absent; None keeps everything in memory."""
        path = None if folder is None else Path(folder) / FILE_NAME
        self.place = "The copies in memory" if path is None else str(path)
        self._turn = threading.Lock()
        self._closed = False
        with self._translated():
            self._connection = connect_beside(path, "buyer_orders.sql")

    def put(self, orders: Sequence[BuyerOrder]) -> None:
        check_put(orders)
        rows = []
        for order in orders:
            item = buyer_order_item(order)
            check_item(item)
            rows.append((item["pk"], item["sk"], order.rev, encode(item)))
        with self._translated(), self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_PUT, rows)
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                self._connection.execute("ROLLBACK")
                raise

    def list_orders(self, buyer_id: str, *, limit: int, cursor: str | None = None) -> BuyerOrderPage:
        before = _FROM_NEWEST if cursor is None else check_cursor(cursor)
        with self._translated(), self._turn:
            rows = self._connection.execute(_LIST, (buyer_id, before, limit + 1)).fetchall()
        orders = tuple(read_buyer_order(decode(text)) for _, text in rows[:limit])
        return BuyerOrderPage(orders, rows[limit - 1][0] if len(rows) > limit else None)

    def note_progress(self, stream_shard: str, newest_ms: int) -> None:
        with self._translated(), self._turn:
            self._connection.execute(_NOTE, (stream_shard, newest_ms))

    def progress_ms(self) -> int | None:
        with self._translated(), self._turn:
            found: int | None = self._connection.execute("SELECT max(newest_ms) FROM progress").fetchone()[0]
        return found

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._connection.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        if self._closed:
            raise Unavailable(f"{self.place} was closed; open it again.")
        try:
            yield
        except sqlite3.Error as error:
            raise translate(error, self.place) from error
        except OSError as error:
            raise Unavailable(f"{self.place} cannot be opened ({error.strerror}); set ONSALE_DATA_DIR.") from error
