"""The truth about an order in one plain sentence."""

from __future__ import annotations

from shared.domain.order import Duty, Order, PaymentState, Reason, Status

_STATUS = {
    Status.CONFIRMED: "Your tickets are confirmed.",
    Status.EXPIRED: "The order was not paid in time; its seats were given back.",
    Status.CANCELLED: "The order was cancelled.",
    Status.REFUNDED: "The order was paid back.",
    Status.REJECTED: "The order could not be served.",
    Status.SUPERSEDED: "Another copy of this order counts.",
    Status.QUEUED: "Your order is in line.",
}
_REASON = {
    Reason.SOLD_OUT: "The tickets are sold out; nothing was charged.",
    Reason.NOT_ENOUGH_SEATS: "There are not enough seats left for your party; nothing was charged.",
    Reason.OVER_BUYER_LIMIT: "You have reached the number of tickets one buyer may have; nothing was charged.",
    Reason.SALE_CANCELLED: "The event was cancelled; what you paid is paid back.",
    Reason.BUYER_CANCELLED: "You cancelled the order.",
    Reason.NOT_PAID_IN_TIME: "The order was not paid in time; its seats were given back.",
    Reason.REFUNDED_BY_STAFF: "The organiser paid the order back.",
    Reason.ORPHANED: "A payment came without an order; it is paid back.",
}
_HELD = {
    PaymentState.NONE: "Your seats are held; the payment is being prepared.",
    PaymentState.OPEN: "Your seats are held; the payment is open.",
    PaymentState.DECLINED: "Your seats are held, but the card was declined; try another one.",
    PaymentState.PROCESSING: "Your seats are held; the payment is on its way.",
    PaymentState.PAID: "The payment arrived; your tickets are being made out.",
    PaymentState.CLOSED: "The payment is closed; your seats are being given back.",
}


def sentence(order: Order) -> str:
    """Say where the order stands and what that means for the buyer."""
    if order.status is Status.HELD:
        if Duty.CLOSE in order.duties:
            return "You cancelled; your seats are given back unless the payment was faster."
        if order.payment.silent_since_ms is not None:
            return (
                "Your seats are held; the payment service does not answer at the moment. We keep asking, and you are "
                "charged once at most."
            )
        return _HELD[order.payment.state]
    if order.reason is not None and order.status is not Status.CONFIRMED:
        return _REASON[order.reason]
    if order.payment.refund_due_minor > 0 and order.status is Status.CONFIRMED:
        return "Your tickets are confirmed; part of the price is paid back."
    return _STATUS[order.status]
