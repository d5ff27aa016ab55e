"""One order beside one payment intent: do they agree, and if not, what is to be done. Pure."""

from __future__ import annotations

from consumers.reconcile.report import Course, Finding
from shared.domain.order import Duty, Order, PaymentState, Status
from shared.ports.payment import Intent, IntentStatus

# What has been due for so long is not being worked on.
STUCK_MS = 600_000
# How a hold's order may see its intent while both agree.
_SEEN_AS = {
    IntentStatus.OPEN: frozenset({PaymentState.NONE, PaymentState.OPEN, PaymentState.DECLINED}),
    IntentStatus.PROCESSING: frozenset({PaymentState.PROCESSING}),
    IntentStatus.SUCCEEDED: frozenset[PaymentState](),
    IntentStatus.CLOSED: frozenset[PaymentState](),
}


def compare(order: Order, intent: Intent, now_ms: int) -> Finding | None:
    """Return what differs between an order and an intent that carries its tag; None when they agree."""
    if order.parked is not None:
        return found(Course.PERSON, "parked", f"The order is parked: {order.parked.error}", order, intent)
    if order.payment.intent_id not in {None, intent.intent_id}:
        return _second(order, intent)
    if intent.amount != order.amount and not order.is_orphan:
        sentence = f"The payment is over {intent.amount}, the order over {order.amount}."
        return found(Course.PERSON, "other-amount", sentence, order, intent)
    finding = _by_status(order, intent)
    if finding is not None and finding.course is Course.LOOK and _is_due(order, now_ms):
        finding = found(Course.UNDER_WAY, finding.code, finding.sentence, order, intent)
    return stuck(order, now_ms) or finding


def stuck(order: Order, now_ms: int) -> Finding | None:
    """Return that nobody has done for long what is due; what waits for somebody outside does not count."""
    due = order.next_due
    if due is None or due[1] is Duty.FULFIL or now_ms - due[0] < STUCK_MS:
        return None
    minutes = (now_ms - due[0]) // 60_000
    sentence = (
        f"The order's duty to {due[1].replace('_', ' ')} has been due for {minutes} minutes; is a worker running?"
    )
    return found(Course.PERSON, "stuck", sentence, order, None)


def found(course: Course, code: str, sentence: str, order: Order, intent: Intent | None) -> Finding:
    """Make a finding about an order."""
    intent_id = order.payment.intent_id if intent is None else intent.intent_id
    return Finding(course, code, sentence, order.key.event_id, order.key.order_id, intent_id)


def _by_status(order: Order, intent: Intent) -> Finding | None:
    match order.status:
        case Status.HELD:
            if order.payment.state in _SEEN_AS[intent.status]:
                return None
            return found(
                Course.LOOK, "unseen", f"The payment is {intent.status}; the order shows it late.", order, intent
            )
        case Status.CONFIRMED:
            return _confirmed(order, intent)
        case Status.QUEUED:
            if intent.captured_minor == intent.refunded_minor:
                return None
            return found(Course.PERSON, "paid-in-line", "The order was paid and stands in line.", order, intent)
        case _:
            return _ended(order, intent)


def _confirmed(order: Order, intent: Intent) -> Finding | None:
    kept = intent.captured_minor - intent.refunded_minor
    if intent.status is not IntentStatus.SUCCEEDED:
        sentence = f"The order is confirmed, its payment is {intent.status}."
        return found(Course.PERSON, "unpaid-confirmed", sentence, order, intent)
    if kept == order.owes_minor:
        return None
    if kept < order.owes_minor:
        sentence = f"{order.owes_minor - kept} minor units were paid back outside; the tickets are still valid."
        return found(Course.PERSON, "refunded-outside", sentence, order, intent)
    return _owed(order, intent, kept - order.owes_minor)


def _ended(order: Order, intent: Intent) -> Finding | None:
    if intent.status in {IntentStatus.OPEN, IntentStatus.PROCESSING}:
        course = Course.UNDER_WAY if Duty.CHECK in order.duties else Course.LOOK
        return found(course, "still-open", f"The order is {order.status}, its payment {intent.status}.", order, intent)
    kept = intent.captured_minor - intent.refunded_minor
    return None if kept == 0 else _owed(order, intent, kept)


def _owed(order: Order, intent: Intent, surplus_minor: int) -> Finding:
    course = Course.UNDER_WAY if Duty.REFUND in order.duties else Course.LOOK
    sentence = f"{surplus_minor} minor units are to be paid back; the order is {order.status}."
    return found(course, "owed", sentence, order, intent)


def _second(order: Order, intent: Intent) -> Finding | None:
    if intent.status is IntentStatus.CLOSED or (
        intent.status is IntentStatus.SUCCEEDED and intent.captured_minor == intent.refunded_minor
    ):
        return None
    sentence = f"The order has a second payment, which is {intent.status}; its own is {order.payment.intent_id}."
    return found(Course.PERSON, "second-payment", sentence, order, intent)


def _is_due(order: Order, now_ms: int) -> bool:
    due = order.next_due
    return due is not None and due[0] <= now_ms
