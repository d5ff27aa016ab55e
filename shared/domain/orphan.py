"""A payment of ours without an order: what is stored in the order's place, so that the money goes back.

It stands where the order would, so that none of this id can be taken any more, and is worked on like every other
order: its only duty is to look at the payment and to pay back what was taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.money import Money
from shared.domain.order import Duty, Order, Payment, Reason, Status

if TYPE_CHECKING:
    from shared.domain.order_id import OrderKey

# Nobody's; a reader who is no buyer still finds a name.
BUYER_ID = "#orphan"


def make_orphan(key: OrderKey, *, intent_id: str, currency: str, op: str, now_ms: int) -> Order:
    """Make the stand-in for the order that a payment intent of ours names and that is not stored."""
    return Order(
        key=key,
        buyer_id=BUYER_ID,
        lines=(),
        demand=(),
        amount=Money(0, currency),
        accepted_at_ms=now_ms,
        fingerprint="",
        status=Status.CANCELLED,
        reason=Reason.ORPHANED,
        op=op,
        updated_at_ms=now_ms,
        payment=Payment(intent_id=intent_id),
        duties={Duty.CHECK: now_ms},
    )
