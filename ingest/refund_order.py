"""Staff pay an order back: in part, or whole, and then its seats are sold again or withheld.

The refund is ordered here and carried out by a worker. Amounts are totals, so that a request whose answer was lost can
be sent again, and two members of staff cannot pay back more than either of them meant.
"""

from __future__ import annotations

from msgspec import Struct

from ingest.audit_trail import Actor, audit_order
from ingest.change_sale import standing_sale
from ingest.parts import Parts
from shared.domain.errors import Contended, Invalid, NotFound
from shared.domain.money import Money
from shared.domain.order import Order, Reason, Status
from shared.domain.order_id import locate_order
from shared.domain.sale import Sale
from shared.domain.transitions import refund_part, refund_whole
from shared.payments.charges import refund_amount
from shared.ports.orders import Saved

# Each further round means that somebody else wrote the order between our read and our write.
MAX_ROUNDS = 5


class RefundWish(Struct, frozen=True):
    """What is to be paid back in all, in minor units; None: everything, and the seats with it, `withhold` or not."""

    total_minor: int | None
    withhold: bool = False


def refund_order(parts: Parts, event_id: str, order_id: str, actor: Actor, wish: RefundWish) -> Order:
    """Order a refund on a confirmed order; the same wish again changes nothing.

    Raises NotFound, Conflicting with the reason, Invalid for an amount that cannot be paid back exactly, Contended.
    """
    sale = standing_sale(parts, event_id).sale
    order = parts.store.get_order(locate_order(event_id, order_id, sale.shard_counts))
    if order is None:
        raise NotFound("No order has this id.")
    if wish.total_minor is not None:
        _check_exact(Money(wish.total_minor, order.amount.currency))
    before = order
    for _ in range(MAX_ROUNDS):
        saved = _write(parts, sale, order, wish)
        if saved is None:
            break
        if saved.order is None:
            raise NotFound("No order has this id.")
        before, order = order, saved.order
        if saved.done:
            break
    else:
        raise Contended
    audit_order(parts, actor, "refund_order", before=before, after=order)
    return order


def write_whole_refund(parts: Parts, sale: Sale, order: Order, reason: Reason, *, withhold: bool) -> Saved:
    """End a confirmed order and give its seats back, in one transaction on condition that nobody wrote meanwhile."""
    refunded = refund_whole(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms(), reason=reason)
    return parts.store.release(refunded, seen_rev=order.rev, withhold=withhold, max_per_buyer=sale.max_per_buyer)


def _write(parts: Parts, sale: Sale, order: Order, wish: RefundWish) -> Saved | None:
    """Write what is wished; None when it stands already."""
    if wish.total_minor is None:
        if order.status is Status.REFUNDED:
            return None
        return write_whole_refund(parts, sale, order, Reason.REFUNDED_BY_STAFF, withhold=wish.withhold)
    if order.status is Status.CONFIRMED and order.payment.refund_due_minor == wish.total_minor:
        return None
    part = refund_part(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms(), total_minor=wish.total_minor)
    return parts.store.save(part, seen_rev=order.rev)


def _check_exact(total: Money) -> None:
    try:
        refund_amount(total)
    except Invalid as error:
        raise Invalid(error.message, field="total_minor", code="not-refundable") from None
