"""Orders as rows, every effective change of one entered in the change log beside it."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from shared.stores.items import order_item, read_order, standing_for, tombstone_item
from shared.stores.limits import check_item
from shared.stores.sqlite.codec import decode, encode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from shared.domain.order import Order
    from shared.domain.order_id import OrderKey
    from shared.stores.items import Item

_INSERT = "INSERT INTO orders (pk, sk, rev, work, item) VALUES (?, ?, ?, ?, ?) ON CONFLICT (pk, sk) DO NOTHING"
_FIND = "SELECT id, rev, item FROM orders WHERE pk = ? AND sk = ?"
_REPLACE = "UPDATE orders SET rev = ?, work = ?, item = ? WHERE id = ?"
_NOTE = "INSERT INTO changes (at_ms, bucket, old, new) VALUES (?, ?, ?, ?)"


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


def insert(connection: sqlite3.Connection, item: Item, at_ms: int) -> bool:
    """Store a new order or tombstone; False when something stands under its key."""
    text = encode(item)
    pk, sk = item["pk"], item["sk"]
    if not connection.execute(_INSERT, (pk, sk, item.get("rev", 0), item.get("work"), text)).rowcount:
        return False
    connection.execute(_NOTE, (at_ms, _bucket(pk, sk), None, text))
    return True


def standing(connection: sqlite3.Connection, homes: Sequence[OrderKey]) -> str | None:
    """Return the id that something stored at one of these addresses leads to, or None."""
    for home in homes:
        row = find(connection, home)
        if row is not None:
            return standing_for(decode(row.text))
    return None


def close(connection: sqlite3.Connection, homes: Sequence[OrderKey], order_id: str, at_ms: int) -> None:
    """Put tombstones that lead to `order_id` at empty addresses."""
    for home in homes:
        insert(connection, tombstone_item(home, order_id), at_ms)


def replace(connection: sqlite3.Connection, row: Row, item: Item, at_ms: int) -> None:
    """Put `item` in the place of `row`; what changes nothing leaves no trace in the change log."""
    text = encode(item)
    connection.execute(_REPLACE, (item["rev"], item.get("work"), text, row.row_id))
    if item["rev"] != row.rev or item != decode(row.text):
        connection.execute(_NOTE, (at_ms, _bucket(item["pk"], item["sk"]), row.text, text))


def _bucket(pk: str, sk: str) -> int:
    return zlib.crc32(f"{pk}\0{sk}".encode())
