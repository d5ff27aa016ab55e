"""Orders as rows, every effective change of one entered in the change log beside it."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from shared.stores.items import order_item, read_order, standing_for, tombstone_item
from shared.stores.limits import check_item, check_written
from shared.stores.sqlite.codec import decode, encode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from shared.domain.order import Order
    from shared.domain.order_id import OrderKey
    from shared.stores.items import Item

_INSERT = "INSERT INTO orders (pk, sk, rev, work, item) VALUES {} ON CONFLICT (pk, sk) DO NOTHING"
_NEW = "SELECT pk, sk FROM orders WHERE id > ?"
_FIND = "SELECT id, rev, item FROM orders WHERE pk = ? AND sk = ?"
_REPLACE = "UPDATE orders SET rev = ?, work = ?, item = ? WHERE id = ?"
_NOTE = "INSERT INTO changes (at_ms, bucket, old, new) VALUES {}"


class Row(NamedTuple):
    """An order as it stands: `text` is its item as JSON."""

    row_id: int
    rev: int
    text: str

    @property
    def order(self) -> Order:
        """The order itself; Moved when a tombstone stands here."""
        return read_order(decode(self.text))


def checked_item(order: Order) -> Item:
    """Write an order as an item that a store takes; Invalid otherwise."""
    item = order_item(order)
    check_item(item)
    return item


def find(connection: sqlite3.Connection, key: OrderKey) -> Row | None:
    """Read one order's row, or None."""
    found = connection.execute(_FIND, (key.partition, key.order_id)).fetchone()
    return found and Row(*found)


class NewRow(NamedTuple):
    """An order or tombstone to be stored, with the time it came at."""

    pk: str
    sk: str
    rev: int
    work: str | None
    text: str
    at_ms: int


def new_row(item: Item, at_ms: int) -> NewRow:
    """Write an item as a row; Invalid when a store would not take it."""
    text = encode(item)
    check_written(item, text)
    return NewRow(item["pk"], item["sk"], item.get("rev", 0), item.get("work"), text, at_ms)


def insert(connection: sqlite3.Connection, rows: Sequence[NewRow]) -> list[bool]:
    """Store new orders or tombstones; False where something stands under the key.

    One statement takes them all, for between two of them the interpreter turns to other threads.
    """
    stored = connection.execute(_several(_INSERT, len(rows), 5), [value for row in rows for value in row[:-1]])
    new = [True] * len(rows)
    if stored.rowcount < len(rows):
        # Each new row's number is one above the highest there was.
        before = (stored.lastrowid or 0) - stored.rowcount
        keys = set(connection.execute(_NEW, (before,)).fetchall()) if stored.rowcount else set()
        for at, row in enumerate(rows):
            new[at] = (row.pk, row.sk) in keys
            keys.discard((row.pk, row.sk))
    changes = [
        (row.at_ms, _bucket(row.pk, row.sk), None, row.text) for row, is_new in zip(rows, new, strict=True) if is_new
    ]
    if changes:
        connection.execute(_several(_NOTE, len(changes), 4), [value for change in changes for value in change])
    return new


def standing(connection: sqlite3.Connection, homes: Sequence[OrderKey]) -> str | None:
    """Return the id that something stored at one of these addresses leads to, or None."""
    for home in homes:
        row = find(connection, home)
        if row is not None:
            return standing_for(decode(row.text))
    return None


def close(connection: sqlite3.Connection, homes: Sequence[OrderKey], order_id: str, at_ms: int) -> None:
    """Put tombstones that lead to `order_id` at empty addresses."""
    if homes:
        insert(connection, [new_row(tombstone_item(home, order_id), at_ms) for home in homes])


def replace(connection: sqlite3.Connection, row: Row, item: Item, at_ms: int) -> None:
    """Put `item` in the place of `row`; what changes nothing leaves no trace in the change log."""
    text = encode(item)
    connection.execute(_REPLACE, (item["rev"], item.get("work"), text, row.row_id))
    if item["rev"] != row.rev or item != decode(row.text):
        connection.execute(_several(_NOTE, 1, 4), (at_ms, _bucket(item["pk"], item["sk"]), row.text, text))


@cache
def _several(statement: str, rows: int, columns: int) -> str:
    return statement.format(", ".join([f"({', '.join('?' * columns)})"] * rows))


def _bucket(pk: str, sk: str) -> int:
    return zlib.crc32(f"{pk}\0{sk}".encode())
