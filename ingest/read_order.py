"""How did it go? One consistent read of the order's own item."""

from __future__ import annotations

from ingest.identity import STAFF_READ, Identity
from ingest.parts import Parts
from shared.domain.errors import Moved, NotFound
from shared.domain.order import Order, Status
from shared.domain.order_id import MAX_MAP_VERSION, locate_order, parse_order_id
from shared.ports.control import SaleView

# An order stands under one version of the shard map at a time; each step leads to another one.
MAX_STEPS = MAX_MAP_VERSION + 1
_NO_ORDER = "No order has this id."


def read_order(parts: Parts, event_id: str, order_id: str, identity: Identity) -> tuple[Order, SaleView]:
    """Read an order for its buyer or for staff; NotFound for everybody else, as if it did not exist."""
    order, view = find_order(parts, event_id, order_id)
    if order.buyer_id != identity.subject and not identity.has(STAFF_READ):
        raise NotFound(_NO_ORDER)
    return order, view


def find_order(parts: Parts, event_id: str, order_id: str) -> tuple[Order, SaleView]:
    """Read an order, or the one that stands for its key instead; NotFound when there is none.

    An id of a map version that this process has not heard of makes it read the sale anew.
    """
    since_s = parts.clock.monotonic_s()
    view = parts.sales.get(event_id)
    wanted = order_id
    for _ in range(MAX_STEPS):
        view = _knowing(parts, view, wanted, since_s)
        try:
            order = parts.store.get_order(locate_order(event_id, wanted, view.sale.shard_counts))
        except Moved as moved:
            wanted = moved.order_id
            continue
        if order is None:
            raise NotFound(_NO_ORDER)
        if order.status is not Status.SUPERSEDED or order.superseded_by is None:
            return order, view
        wanted = order.superseded_by
    raise NotFound(_NO_ORDER)


def _knowing(parts: Parts, view: SaleView, order_id: str, since_s: float) -> SaleView:
    version, _ = parse_order_id(order_id)
    if view.sale.map_version < version <= MAX_MAP_VERSION:
        return parts.sales.renew(view.sale.event_id, since_s=since_s)
    return view
