"""A buyer wants out: at once while waiting; once seats are held, a worker closes the payment first."""

from __future__ import annotations

from ingest.parts import Parts
from ingest.read_order import find_order
from shared.domain.errors import Conflicting, Contended, NotFound
from shared.domain.order import Duty, Order, Status
from shared.domain.transitions import ask_to_cancel, cancel_queued, supersede
from shared.ports.control import SaleView

# Each further try means that a worker changed the order between our read and our write.
MAX_TRIES = 5


def cancel_order(parts: Parts, event_id: str, order_id: str, buyer_id: str) -> tuple[Order, SaleView]:
    """Cancel the buyer's own order, or store the wish; the answer's status says which.

    Raises NotFound for other people's orders, Conflicting when it ended otherwise, Contended when workers were faster
    every time.
    """
    order, view = find_order(parts, event_id, order_id)
    for _ in range(MAX_TRIES):
        if order.buyer_id != buyer_id:
            raise NotFound("No order has this id.")
        wanted = _next(parts, order)
        if wanted is None:
            return order, view
        saved = parts.store.save(wanted, seen_rev=order.rev)
        if saved.superseded_by is not None:
            order, view = _instead(parts, order, saved.superseded_by)
            continue
        if saved.order is None:
            raise NotFound("No order has this id.")
        order = saved.order
        if saved.done:
            return order, view
    raise Contended


def _next(parts: Parts, order: Order) -> Order | None:
    """Return what to write; None when the wish is fulfilled or stored already."""
    if order.status is Status.CANCELLED or (order.status is Status.HELD and Duty.CLOSE in order.duties):
        return None
    op, now_ms = parts.ids.op_id(), parts.clock.now_ms()
    if order.status is Status.QUEUED:
        return cancel_queued(order, op=op, now_ms=now_ms)
    if order.status is Status.HELD:
        return ask_to_cancel(order, op=op, now_ms=now_ms)
    raise Conflicting(f"The order is {order.status} and cannot be cancelled.", code=f"order-{order.status}")


def _instead(parts: Parts, order: Order, other_id: str) -> tuple[Order, SaleView]:
    """Go on with the order that stands for the key: it was taken under an older version of the shard map."""
    superseded = supersede(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms(), order_id=other_id)
    parts.store.save(superseded, seen_rev=order.rev)
    return find_order(parts, order.key.event_id, other_id)
