"""Orders and their work index in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Broken
from shared.domain.order import Lane, WorkHint
from shared.domain.order_id import OrderKey, partition_key
from shared.domain.times import MAX_TIME_MS, sortable_ms
from shared.ports.orders import Accepted, HintPage, OrderPage, Saved
from shared.stores.items import is_tombstone, order_item, read_demand, read_homes, read_order, stored_form
from shared.stores.sqlite.codec import decode
from shared.stores.sqlite.part import Part
from shared.stores.sqlite.rows import checked_item, close, find, insert, new_row, replace, standing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from shared.domain.order import Order
    from shared.stores.sqlite.rows import NewRow

# The sort keys of a lane lie between `lane#` and the first text after all that begin so.
_DUE = "SELECT sk, work, item FROM orders WHERE pk = ? AND work > ? AND work < ? ORDER BY work LIMIT ?"
_DEPTH = "SELECT count(*) FROM (SELECT 1 FROM orders WHERE pk = ? AND work > ? AND work < ? LIMIT ?)"
_LIST = "SELECT sk, item FROM orders WHERE pk = ? AND sk > ? ORDER BY sk LIMIT ?"


class SqliteOrders(Part):
    """The durable buffer over one database."""

    def accept(self, order: Order) -> Accepted:
        row = new_row(order_item(order), self._clock.now_ms())
        return self._database.write_together(_accept, (order, row))

    def get_order(self, key: OrderKey) -> Order | None:
        row = self._database.read(lambda connection: find(connection, key))
        return row and row.order

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        item = checked_item(order)
        at_ms = self._clock.now_ms()

        def put(connection: sqlite3.Connection) -> Saved:
            row = find(connection, order.key)
            if row is None:
                return Saved(None, done=False)
            if row.rev != seen_rev:
                return Saved(row.order, done=_own(row.order, order.op))
            other = standing(connection, order.tombstones)
            if other is not None:
                return Saved(None, done=False, superseded_by=other)
            replace(connection, row, item, at_ms)
            close(connection, order.tombstones, order.key.order_id, at_ms)
            return Saved(stored_form(order), done=True)

        return self._database.write(put)

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        if until_ms < 0:
            return HintPage((), None)
        first = cursor or f"{lane}#"
        end = f"{lane}#{sortable_ms(min(until_ms, MAX_TIME_MS))}$"
        query = (partition_key(event_id, shard), first, end, limit + 1)
        rows = self._database.read(lambda connection: connection.execute(_DUE, query).fetchall())
        hints = tuple(_hint(event_id, shard, lane, work, text) for _sk, work, text in rows[:limit])
        return HintPage(hints, rows[limit - 1][1] if len(rows) > limit else None)

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        query = (partition_key(event_id, shard), cursor or "", limit + 1)
        rows = self._database.read(lambda connection: connection.execute(_LIST, query).fetchall())
        items = (decode(text) for _sk, text in rows[:limit])
        orders = tuple(read_order(item) for item in items if not is_tombstone(item))
        return OrderPage(orders, rows[limit - 1][0] if len(rows) > limit else None)

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        query = (partition_key(event_id, shard), f"{lane}#", f"{lane}$", most)
        return int(self._database.read(lambda connection: connection.execute(_DEPTH, query).fetchone()[0]))


def _accept(connection: sqlite3.Connection, arrived: Sequence[tuple[Order, NewRow]]) -> list[Accepted]:
    """Store all that have arrived; where something stands already, answer with that."""
    created = insert(connection, [row for _, row in arrived])
    return [
        Accepted(order, created=True) if is_new else _earlier(connection, order)
        for (order, _), is_new in zip(arrived, created, strict=True)
    ]


def _earlier(connection: sqlite3.Connection, order: Order) -> Accepted:
    row = find(connection, order.key)
    if row is None:
        raise Broken
    return Accepted(row.order, created=_own(row.order, order.op))


def _own(stored: Order, op: str) -> bool:
    return op != "" and stored.op == op


def _hint(event_id: str, shard: int, lane: Lane, work: str, text: str) -> WorkHint:
    item = decode(text)
    at_ms = int(work.split("#", 2)[1])
    demand = read_demand(item["demand"])
    key = OrderKey(event_id, shard, item["sk"])
    homes, trace = read_homes(event_id, item), item.get("trace", "")
    return WorkHint(key, lane, at_ms, item["buyer"], demand, item["accepted_at"], homes, trace)
