"""The durable buffer of orders and its work index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from shared.domain.order import Lane, Order, WorkHint
    from shared.domain.order_id import OrderKey


class Accepted(Struct, frozen=True):
    """The answer to `accept`: the order that stands under this key, and whether this call put it there."""

    order: Order
    created: bool


class Saved(Struct, frozen=True):
    """The answer to `save` and `release`: the order as stored now.

    `done` is False when another writer was first; `order` is then the other's version (None if nothing is stored). When
    the order was to leave the line and another one stands for its key, nothing was written: `superseded_by` is the
    other's id, and `order` is None.
    """

    order: Order | None
    done: bool
    superseded_by: str | None = None


class HintPage(Struct, frozen=True):
    """Some entries of the work index in key order. `cursor` is None at the end; a page may be empty before it."""

    hints: tuple[WorkHint, ...]
    cursor: str | None


class OrderPage(Struct, frozen=True):
    """Some orders of one shard in key order. `cursor` is None at the end; a page may be empty before it."""

    orders: tuple[Order, ...]
    cursor: str | None


class OrderStore(Protocol):
    """The durable buffer: one item per order, and the sparse index of what is still to do."""

    def accept(self, order: Order) -> Accepted:
        """Store a new order in one conditional write, or return the one that already stands under its key.

        Moved when a tombstone stands there.
        """
        ...

    def get_order(self, key: OrderKey) -> Order | None:
        """Read one order, consistently; Moved when a tombstone stands there."""
        ...

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        """Replace an order on condition that its stored `rev` is still `seen_rev`.

        A stored order whose `op` is `order.op` counts as done: it is this writer's own work. An order that leaves the
        line (`order.tombstones`) is stored together with a tombstone at each of its older homes, on condition that
        nothing stands there.
        """
        ...

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        """List the work index of one shard and lane, earliest first, up to and including `until_ms`."""
        ...

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        """Page through all orders of one shard, consistently; tombstones are none.

        For verification and export, never for the sale.
        """
        ...

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        """Count one shard's entries in a lane, stopping at `most`."""
        ...
