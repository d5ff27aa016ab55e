"""Money matters of an order that has ended: refunds that are owed, and news that comes late."""

from __future__ import annotations

from msgspec.structs import replace

from consumers.settlement.intents import check_intent, find_intent
from consumers.settlement.outcome import Outcome, Step
from consumers.settlement.waits import check_later, without
from consumers.tools import Tools
from shared.domain import transitions
from shared.domain.order import Duty, Order, Payment, Status
from shared.ports.payment import Intent, IntentStatus


def settle(tools: Tools, order: Order, due: frozenset[Duty]) -> Step:
    """Pay back what is owed, or look whether anything is."""
    if Duty.REFUND in due:
        return _refund(tools, order)
    if order.payment.intent_id is None:
        return _nothing_more(tools, order, order.payment)
    intent = find_intent(tools.gateway, order)
    if order.status is Status.CONFIRMED:
        return _look(tools, order, intent)
    if intent.status is IntentStatus.OPEN:
        # Nothing is sold for it any more, so nothing may come of it any more.
        intent = check_intent(order, tools.gateway.close_intent(intent))
    if intent.status in {IntentStatus.OPEN, IntentStatus.PROCESSING}:
        return _ask_again(tools, order, intent)
    return _look(tools, order, intent)


def _refund(tools: Tools, order: Order) -> Step:
    """Bring what was paid back up to the total that is due; the payment service never goes above it."""
    payment = order.payment
    intent = find_intent(tools.gateway, order)
    if intent.refunded_minor < payment.refund_due_minor:
        intent = tools.gateway.refund(intent, key=order.key, total_minor=payment.refund_due_minor)
    now_ms = tools.clock.now_ms()
    duties = without(order, Duty.REFUND, Duty.CHECK)
    done = intent.refunded_minor >= payment.refund_due_minor
    if not done:
        duties[Duty.REFUND] = check_later(order, tools.ids, now_ms)
    refunded = transitions.note_payment(order, _seen(payment, intent), duties, op=tools.ids.op_id(), now_ms=now_ms)
    return Step(refunded, Outcome.REFUNDED if done else Outcome.AWAITED)


def _look(tools: Tools, order: Order, intent: Intent) -> Step:
    """Owe back what was captured beyond what the order is worth now; else there is nothing to do."""
    payment = _seen(order.payment, intent)
    surplus = intent.captured_minor - order.owes_minor
    if surplus <= max(payment.refund_due_minor, intent.refunded_minor):
        return _nothing_more(tools, order, payment)
    owed = transitions.owe_refund(order, payment, op=tools.ids.op_id(), now_ms=tools.clock.now_ms(), due_minor=surplus)
    return Step(owed, Outcome.REFUND_OWED)


def _ask_again(tools: Tools, order: Order, intent: Intent) -> Step:
    """Wait for money that is on its way to an order that has ended."""
    now_ms = tools.clock.now_ms()
    duties = without(order, Duty.CHECK) | {Duty.CHECK: check_later(order, tools.ids, now_ms)}
    awaited = transitions.note_payment(order, _seen(order.payment, intent), duties, op=tools.ids.op_id(), now_ms=now_ms)
    return Step(awaited, Outcome.AWAITED)


def _nothing_more(tools: Tools, order: Order, payment: Payment) -> Step:
    duties = without(order, *(duty for duty in order.duties if duty not in {Duty.FULFIL, Duty.REFUND}))
    noted = transitions.note_payment(order, payment, duties, op=tools.ids.op_id(), now_ms=tools.clock.now_ms())
    return Step(noted, Outcome.NOTHING)


def _seen(payment: Payment, intent: Intent) -> Payment:
    """Take over the totals that the payment service shows; they never fall."""
    return replace(
        payment,
        captured_minor=max(payment.captured_minor, intent.captured_minor),
        refunded_minor=max(payment.refunded_minor, intent.refunded_minor),
        refund_due_minor=max(payment.refund_due_minor, intent.refunded_minor),
        silent_since_ms=None,
    )
