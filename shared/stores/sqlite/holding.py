"""The allocating transaction in SQLite: look at everything, then write all of it or nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shared.domain.order import Status
from shared.domain.transitions import hold
from shared.ports.inventory import HoldOutcome
from shared.stores.items import order_item
from shared.stores.limits import check_item
from shared.stores.sqlite.repeats import once
from shared.stores.sqlite.rows import Row, close, find, replace, standing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from shared.domain.order import Order, WorkHint
    from shared.domain.order_id import OrderKey
    from shared.ports.inventory import HoldBatch

_UNSOLD = "SELECT unsold FROM slices WHERE event_id = ? AND pool_id = ? AND slice_no = ?"
_SELL = (
    "UPDATE slices SET unsold = unsold - ?1, taken = taken + ?1, version = version + 1"
    " WHERE event_id = ?2 AND pool_id = ?3 AND slice_no = ?4"
)
_COUNT = "SELECT tickets FROM buyers WHERE event_id = ? AND buyer_id = ?"
_RAISE = (
    "INSERT INTO buyers (event_id, buyer_id, tickets) VALUES (?, ?, ?)"
    " ON CONFLICT (event_id, buyer_id) DO UPDATE SET tickets = tickets + excluded.tickets"
)


def carry_out(connection: sqlite3.Connection, batch: HoldBatch, at_ms: int) -> HoldOutcome:
    """Hold the whole batch, or say for every condition that failed which one it was."""
    outcome = HoldOutcome(held=True)

    def attempt() -> bool:
        nonlocal outcome
        queued, gone = _read(connection, batch)
        sums = _sums(batch)
        short = _short(connection, batch, sums)
        over_limit = _over_limit(connection, batch)
        superseded = _superseded(connection, queued)
        if gone or short or over_limit or superseded:
            outcome = HoldOutcome(False, gone, short, over_limit, superseded)  # noqa: FBT003 - the field's own order
            return False
        _write(connection, batch, queued, sums, at_ms)
        return True

    once(connection, batch.op, at_ms, attempt)
    return outcome


def _read(connection: sqlite3.Connection, batch: HoldBatch) -> tuple[list[tuple[Row, Order]], frozenset[OrderKey]]:
    queued: list[tuple[Row, Order]] = []
    gone: set[OrderKey] = set()
    for hint in batch.orders:
        row = find(connection, hint.key)
        order = row and row.order
        if row is not None and order is not None and order.status is Status.QUEUED:
            queued.append((row, order))
        else:
            gone.add(hint.key)
    return queued, frozenset(gone)


def _superseded(connection: sqlite3.Connection, queued: list[tuple[Row, Order]]) -> Mapping[OrderKey, str]:
    others = ((order.key, standing(connection, order.older_homes)) for _row, order in queued)
    return {key: other for key, other in others if other is not None}


def _sums(batch: HoldBatch) -> Mapping[str, int]:
    sums: Counter[str] = Counter()
    for hint in batch.orders:
        for want in hint.demand:
            sums[want.pool_id] += want.quantity
    return sums


def _seats(hint: WorkHint) -> int:
    return sum(want.quantity for want in hint.demand)


def _short(connection: sqlite3.Connection, batch: HoldBatch, sums: Mapping[str, int]) -> frozenset[str]:
    short = set()
    for pool_id, wanted in sums.items():
        found = connection.execute(_UNSOLD, (batch.event_id, pool_id, batch.slices[pool_id])).fetchone()
        if found is None or found[0] < wanted:
            short.add(pool_id)
    return frozenset(short)


def _over_limit(connection: sqlite3.Connection, batch: HoldBatch) -> frozenset[str]:
    if batch.max_per_buyer is None:
        return frozenset()
    over = set()
    for hint in batch.orders:
        found = connection.execute(_COUNT, (batch.event_id, hint.buyer_id)).fetchone()
        if (found[0] if found else 0) + _seats(hint) > batch.max_per_buyer:
            over.add(hint.buyer_id)
    return frozenset(over)


def _write(
    connection: sqlite3.Connection,
    batch: HoldBatch,
    queued: list[tuple[Row, Order]],
    sums: Mapping[str, int],
    at_ms: int,
) -> None:
    for row, order in queued:
        held = hold(order, op=batch.op, now_ms=batch.now_ms, hold_ends_at_ms=batch.hold_ends_at_ms, slices=batch.slices)
        item = order_item(held)
        check_item(item)
        replace(connection, row, item, at_ms)
        close(connection, held.tombstones, held.key.order_id, at_ms)
    for pool_id, seats in sums.items():
        connection.execute(_SELL, (seats, batch.event_id, pool_id, batch.slices[pool_id]))
    if batch.max_per_buyer is not None:
        raised = [(batch.event_id, hint.buyer_id, _seats(hint)) for hint in batch.orders]
        connection.executemany(_RAISE, raised)
