"""How did it go? One consistent read of the order's own item."""

from __future__ import annotations

from ingest.identity import STAFF_READ, Identity
from ingest.parts import Parts
from shared.domain.errors import NotFound
from shared.domain.order import Order, Status
from shared.domain.order_id import locate_order
from shared.ports import SaleView

# A superseded order points to the newer copy; a map has at most two older versions, so no chain is longer.
MAX_STEPS = 3
_NO_ORDER = "No order has this id."


def read_order(parts: Parts, event_id: str, order_id: str, identity: Identity) -> tuple[Order, SaleView]:
    """Read an order for its buyer or for staff; NotFound for everybody else, as if it did not exist."""
    order, view = find_order(parts, event_id, order_id)
    if order.buyer_id != identity.subject and not identity.has(STAFF_READ):
        raise NotFound(_NO_ORDER)
    return order, view


def find_order(parts: Parts, event_id: str, order_id: str) -> tuple[Order, SaleView]:
    """Read an order, or the newer one that took its place; NotFound when there is none."""
    view = parts.sales.get(event_id)
    wanted = order_id
    for _ in range(MAX_STEPS):
        order = parts.store.get_order(locate_order(event_id, wanted, view.sale.shard_counts))
        if order is None:
            raise NotFound(_NO_ORDER)
        if order.status is not Status.SUPERSEDED or order.newer_order_id is None:
            return order, view
        wanted = order.newer_order_id
    raise NotFound(_NO_ORDER)
