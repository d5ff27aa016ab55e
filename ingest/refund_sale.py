"""A cancelled sale is paid back page by page: whoever drives it counts first, sets the pace and can go on any time.

What has been done stands in the orders themselves, so no page is ever paid back twice and nothing else is remembered.
"""

from __future__ import annotations

from msgspec import Struct

from ingest.audit_trail import Actor, audit
from ingest.change_sale import standing_sale
from ingest.parts import Parts
from ingest.refund_order import write_whole_refund
from shared.domain.errors import Conflicting, NotFound
from shared.domain.order import FINAL, Duty, Order, Reason, Status
from shared.domain.sale import SaleStatus
from shared.domain.transitions import look_now


class RefundPage(Struct):
    """One page of a sale's orders, counted as they stand after it; amounts in minor units of the sale's currency.

    `ordered` refunds were written by this page; `confirmed` orders still have their tickets; `waiting` ones have not
    come to an end; `owed_minor` is ordered back and not yet paid back; `kept_minor` is neither.
    """

    orders: int = 0
    ordered: int = 0
    confirmed: int = 0
    waiting: int = 0
    parked: int = 0
    captured_minor: int = 0
    refunded_minor: int = 0
    owed_minor: int = 0
    kept_minor: int = 0
    cursor: str | None = None

    def count(self, order: Order) -> None:
        """Add one order."""
        payment = order.payment
        self.orders += 1
        self.confirmed += order.status is Status.CONFIRMED
        self.waiting += order.status not in FINAL
        self.parked += order.parked is not None
        self.captured_minor += payment.captured_minor
        self.refunded_minor += payment.refunded_minor
        self.owed_minor += max(0, payment.refund_due_minor - payment.refunded_minor)
        self.kept_minor += payment.captured_minor - max(payment.refund_due_minor, payment.refunded_minor)


def refund_page(
    parts: Parts, event_id: str, actor: Actor, *, shard: int, cursor: str | None, limit: int, dry_run: bool
) -> RefundPage:
    """Order the refunds of one page of a cancelled sale's orders, or only count them (`dry_run`).

    Raises NotFound, and Conflicting unless the sale is cancelled. An order that somebody else wrote meanwhile is
    counted as it stands, for a later round.
    """
    sale = standing_sale(parts, event_id).sale
    if sale.status is not SaleStatus.CANCELLED and not dry_run:
        raise Conflicting("Cancel the sale before its orders are paid back.", code="sale-not-cancelled")
    if not 0 <= shard < max(sale.shard_counts):
        raise NotFound("The sale has no such shard.")
    page = parts.store.list_orders(event_id, shard, limit=limit, cursor=cursor)
    counted = RefundPage(cursor=page.cursor)
    before_minor = after_minor = 0
    for order in page.orders:
        now = order
        if order.status is Status.CONFIRMED and not dry_run:
            # Nobody sits there any more: the seats are not for sale again.
            saved = write_whole_refund(parts, sale, order, Reason.SALE_CANCELLED, withhold=True)
            now = saved.order or order
            counted.ordered += saved.done
        elif _is_left_alone(order) and not dry_run:
            now = _have_looked_at(parts, order)
        before_minor += order.payment.refund_due_minor
        after_minor += now.payment.refund_due_minor
        counted.count(now)
    if counted.ordered:
        audit(
            parts,
            actor,
            "refund_sale",
            subject=event_id,
            before=f"shard {shard}, {counted.ordered} orders: {before_minor} minor units to be paid back",
            after=f"shard {shard}, {counted.ordered} orders: {after_minor} minor units to be paid back",
        )
    return counted


def _is_left_alone(order: Order) -> bool:
    """Say whether no worker has anything to do with held seats before the hold ends: after a declined card."""
    under_way = {Duty.PAY, Duty.CHECK, Duty.CLOSE} & order.duties.keys()
    return order.status is Status.HELD and order.parked is None and not under_way


def _have_looked_at(parts: Parts, order: Order) -> Order:
    """Send a worker, which finds the sale cancelled, closes the payment and lets the seats go."""
    looked_at = look_now(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms())
    return parts.store.save(looked_at, seen_rev=order.rev).order or order
