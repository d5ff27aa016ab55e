"""The order's one intent at the payment service, and the check that it is the order's."""

from __future__ import annotations

from msgspec.structs import replace

from shared.domain.errors import Broken
from shared.domain.order import Order, Payment, PaymentState
from shared.ports.payment import Intent, IntentStatus, PaymentGateway


class Mismatch(Broken):
    """The payment intent does not belong to this order; compare both by hand before anything else."""

    code = "payment-mismatch"


def find_intent(gateway: PaymentGateway, order: Order) -> Intent:
    """Fetch the intent, or create it if it never was; Mismatch when it is not this order's in every respect."""
    if order.payment.intent_id is None:
        intent = gateway.open_intent(order.key, order.amount, since_ms=order.held_at_ms)
    else:
        intent = gateway.fetch(order.payment.intent_id)
    return check_intent(order, intent)


def check_intent(order: Order, intent: Intent) -> Intent:
    """Return the intent, or raise Mismatch naming what differs."""
    if intent.order_key != order.key:
        raise Mismatch(f"The payment intent {intent.intent_id} is not tagged with this order.")
    if order.is_orphan:
        # What it was to pay for is not known; all of it goes back.
        return intent
    if intent.amount != order.amount:
        raise Mismatch(f"The payment intent {intent.intent_id} is over {intent.amount}, the order over {order.amount}.")
    if intent.status is IntentStatus.SUCCEEDED and intent.captured_minor != order.amount.minor:
        raise Mismatch(
            f"The payment intent {intent.intent_id} captured {intent.captured_minor} minor units, "
            f"the order is over {order.amount.minor}."
        )
    return intent


def refuse_if_refunded(intent: Intent) -> None:
    """Raise Mismatch when money was paid back before any ticket was given: nobody here ordered that."""
    if intent.refunded_minor > 0:
        raise Mismatch(f"The payment intent {intent.intent_id} was refunded before the order was confirmed.")


def noted(order: Order, intent: Intent, state: PaymentState) -> Payment:
    """Return the money side of the order as the intent tells it; the client secret only while it can be paid."""
    return replace(
        order.payment,
        state=state,
        intent_id=intent.intent_id,
        client_secret=intent.client_secret if state in {PaymentState.OPEN, PaymentState.DECLINED} else None,
        decline_code=intent.decline_code if state is PaymentState.DECLINED else None,
        captured_minor=intent.captured_minor,
        refunded_minor=intent.refunded_minor,
        silent_since_ms=None,
    )
