"""Seats as counters in SQLite; a write transaction has the file to itself, so a condition is a plain look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Broken, NotFound
from shared.domain.inventory import PoolState, SliceState, opening_counts
from shared.ports.inventory import HoldOutcome
from shared.ports.orders import Saved
from shared.stores.limits import check_batch, check_buyers
from shared.stores.sqlite.holding import carry_out
from shared.stores.sqlite.part import Part
from shared.stores.sqlite.repeats import once
from shared.stores.sqlite.rows import checked_item, find, replace

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from shared.domain.order import Order
    from shared.domain.pool_change import PoolChange
    from shared.domain.sale import Sale
    from shared.ports.inventory import HoldBatch

_OPEN_POOL = (
    "INSERT INTO pools (event_id, pool_id, capacity, unassigned) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (event_id, pool_id) DO NOTHING"
)
_OPEN_SLICE = "INSERT INTO slices (event_id, pool_id, slice_no, unsold) VALUES (?, ?, ?, ?)"
# One statement, one moment: the pool's part stands in every line.
_POOL = (
    "SELECT p.capacity, p.unassigned, p.withheld, p.round, p.sold_out, p.version,"
    " s.slice_no, s.unsold, s.taken, s.version"
    " FROM pools p JOIN slices s USING (event_id, pool_id) WHERE event_id = ? AND pool_id = ? ORDER BY s.slice_no"
)
_UNASSIGN = (
    "UPDATE pools SET unassigned = unassigned + ?1, version = version + 1"
    " WHERE event_id = ?2 AND pool_id = ?3 AND unassigned + ?1 >= 0"
)
_ASSIGN = (
    "UPDATE slices SET unsold = unsold + ?1, version = version + 1"
    " WHERE event_id = ?2 AND pool_id = ?3 AND slice_no = ?4 AND unsold + ?1 >= 0"
)
_TAKE_BACK = (
    "UPDATE slices SET taken = taken - ?1, unsold = unsold + ?2, version = version + 1"
    " WHERE event_id = ?3 AND pool_id = ?4 AND slice_no = ?5 AND taken >= ?1"
)
_WITHHOLD = "UPDATE pools SET withheld = withheld + ?, version = version + 1 WHERE event_id = ? AND pool_id = ?"
_BUYER_BACK = "UPDATE buyers SET tickets = max(0, tickets - ?) WHERE event_id = ? AND buyer_id = ?"
_UNSOLD = "SELECT slice_no, unsold FROM slices WHERE event_id = ? AND pool_id = ?"
_CHANGE = (
    "UPDATE pools SET capacity = capacity + ?1, unassigned = unassigned + ?2, withheld = withheld + ?3,"
    " version = version + 1 WHERE event_id = ?4 AND pool_id = ?5 AND capacity = ?6 AND withheld = ?7"
    " AND unassigned + ?2 >= 0"
)
_SELL_OUT = (
    "UPDATE pools SET round = round + 1, sold_out = 1, version = version + 1"
    " WHERE event_id = ?1 AND pool_id = ?2 AND round = ?3 AND sold_out = 0 AND unassigned = 0"
    " AND NOT EXISTS (SELECT 1 FROM slices WHERE event_id = ?1 AND pool_id = ?2 AND unsold > 0)"
)
_REOPEN = (
    "UPDATE pools SET sold_out = 0, version = version + 1"
    " WHERE event_id = ? AND pool_id = ? AND round = ? AND sold_out = 1"
)


class SqliteInventory(Part):
    """The counters over one database."""

    def open_inventory(self, sale: Sale) -> None:
        def put(connection: sqlite3.Connection) -> None:
            for pool in sale.pools:
                unassigned, unsold = opening_counts(pool.capacity, pool.slices)
                new = (sale.event_id, pool.pool_id, pool.capacity, unassigned)
                if connection.execute(_OPEN_POOL, new).rowcount:
                    rows = [(sale.event_id, pool.pool_id, slice_no, seats) for slice_no, seats in enumerate(unsold)]
                    connection.executemany(_OPEN_SLICE, rows)

        self._database.write(put)

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        query = (sale.event_id, pool_id)
        rows = self._database.read(lambda connection: connection.execute(_POOL, query).fetchall())
        if not rows:
            raise NotFound(f"The pool {pool_id!r} was never opened.")
        capacity, unassigned, withheld, round_no, sold_out, version = rows[0][:6]
        slices = tuple(SliceState(*row[6:]) for row in rows)
        return PoolState(pool_id, capacity, unassigned, withheld, round_no, bool(sold_out), version, slices)

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        check_buyers(buyer_ids)
        marks = ", ".join("?" * len(buyer_ids))
        query = f"SELECT buyer_id, tickets FROM buyers WHERE event_id = ? AND buyer_id IN ({marks})"  # noqa: S608
        return dict(
            self._database.read(lambda connection: connection.execute(query, (event_id, *buyer_ids)).fetchall())
        )

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        check_batch(batch)
        at_ms = self._clock.now_ms()
        return self._database.write(lambda connection: carry_out(connection, batch, at_ms))

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        item = checked_item(order)
        at_ms = self._clock.now_ms()

        def put(connection: sqlite3.Connection) -> Saved:
            row = find(connection, order.key)
            if row is None:
                return Saved(None, done=False)
            if row.rev != seen_rev:
                stored = row.order
                return Saved(stored, done=order.op != "" and stored.op == order.op)
            replace(connection, row, item, at_ms)
            _seats_back(connection, order, withhold=withhold)
            if max_per_buyer is not None:
                connection.execute(_BUYER_BACK, (order.quantity, order.key.event_id, order.buyer_id))
            return Saved(order, done=True)

        return self._database.write(put)

    def draw(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._move(event_id, pool_id, slice_no, seats, op=op)

    def give_back(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._move(event_id, pool_id, slice_no, -seats, op=op)

    def change_pool(self, event_id: str, pool_id: str, change: PoolChange, *, op: str) -> bool:
        at_ms = self._clock.now_ms()
        return self._database.write(
            lambda connection: once(connection, op, at_ms, lambda: _change_pool(connection, event_id, pool_id, change))
        )

    def decide_sold_out(self, sale: Sale, pool_id: str, *, seen_round: int, op: str) -> bool:
        return self._once(op, _SELL_OUT, (sale.event_id, pool_id, seen_round))

    def reopen_pool(self, event_id: str, pool_id: str, *, seen_round: int, op: str) -> bool:
        return self._once(op, _REOPEN, (event_id, pool_id, seen_round))

    def _move(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        """Move seats from the pool to the slice, or back when negative."""

        def move(connection: sqlite3.Connection) -> bool:
            steps = [(_UNASSIGN, (-seats, event_id, pool_id)), (_ASSIGN, (seats, event_id, pool_id, slice_no))]
            # The side that gives comes first: it alone may have too few.
            giving, taking = steps if seats > 0 else reversed(steps)
            if not connection.execute(*giving).rowcount:
                return False
            if not connection.execute(*taking).rowcount:
                raise NotFound(f"The pool {pool_id!r} has no slice {slice_no}.")
            return True

        at_ms = self._clock.now_ms()
        return self._database.write(lambda connection: once(connection, op, at_ms, lambda: move(connection)))

    def _once(self, op: str, statement: str, values: tuple[object, ...]) -> bool:
        at_ms = self._clock.now_ms()

        def put(connection: sqlite3.Connection) -> bool:
            return once(connection, op, at_ms, lambda: connection.execute(statement, values).rowcount == 1)

        return self._database.write(put)


def _change_pool(connection: sqlite3.Connection, event_id: str, pool_id: str, change: PoolChange) -> bool:
    slices = dict(connection.execute(_UNSOLD, (event_id, pool_id)).fetchall())
    if any(slices[slice_no] + seats < 0 for slice_no, seats in change.unsold.items()):
        return False
    parts = (change.capacity, change.unassigned, change.withheld)
    if not connection.execute(
        _CHANGE, (*parts, event_id, pool_id, change.seen_capacity, change.seen_withheld)
    ).rowcount:
        return False
    connection.executemany(_ASSIGN, [(seats, event_id, pool_id, slice_no) for slice_no, seats in change.unsold.items()])
    return True


def _seats_back(connection: sqlite3.Connection, order: Order, *, withhold: bool) -> None:
    event_id = order.key.event_id
    for part in order.seats:
        for_sale = 0 if withhold else part.quantity
        place = (event_id, part.pool_id, part.slice_no)
        if not connection.execute(_TAKE_BACK, (part.quantity, for_sale, *place)).rowcount:
            raise Broken(f"Order {order.key.order_id} gives back seats that slice {place} does not have as taken.")
        if withhold:
            connection.execute(_WITHHOLD, (part.quantity, event_id, part.pool_id))
