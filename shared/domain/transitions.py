"""The order's state machine: every function takes an order and returns the next one.

A function whose state does not fit raises Conflicting. `rev` goes up by one and `op` names the operation; the store
writes the result on condition that the stored `rev` is still the one that was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from shared.domain.errors import Conflicting
from shared.domain.journey import with_step
from shared.domain.order import (
    MAX_ATTEMPTS,
    Duty,
    Lane,
    Order,
    Parked,
    Payment,
    PaymentState,
    Reason,
    Seats,
    Status,
)
from shared.domain.trouble import Trouble, TroubleKind, remember

if TYPE_CHECKING:
    from collections.abc import Mapping


# What is kept of a parked order's error.
MAX_ERROR_CHARS = 300


def hold(order: Order, *, op: str, now_ms: int, hold_ends_at_ms: int, slices: Mapping[str, int]) -> Order:
    """Give a queued order its seats, and write its first payment try (or hand-off) with them; it is parked no more.

    `slices` maps each pool of the order to the slice that its seats come from.
    """
    _require(order, Status.QUEUED)
    return _next(
        order,
        op,
        now_ms,
        status=Status.HELD,
        held_at_ms=now_ms,
        seats=tuple(Seats(want.pool_id, slices[want.pool_id], want.quantity) for want in order.demand),
        payment=replace(order.payment, attempt=1),
        duties={Duty.PAY: now_ms, Duty.HOLD_END: hold_ends_at_ms},
        parked=None,
    )


def reject(order: Order, *, op: str, now_ms: int, reason: Reason) -> Order:
    """End a queued order without seats."""
    _require(order, Status.QUEUED)
    return _next(order, op, now_ms, status=Status.REJECTED, reason=reason, duties={}, parked=None)


def cancel_queued(order: Order, *, op: str, now_ms: int) -> Order:
    """End a queued order at the buyer's wish."""
    _require(order, Status.QUEUED)
    return _next(order, op, now_ms, status=Status.CANCELLED, reason=Reason.BUYER_CANCELLED, duties={}, parked=None)


def supersede(order: Order, *, op: str, now_ms: int, order_id: str) -> Order:
    """End a queued order because another one, `order_id`, stands for its idempotency key."""
    _require(order, Status.QUEUED)
    return _next(
        order, op, now_ms, status=Status.SUPERSEDED, superseded_by=order_id, duties={}, parked=None, older_homes=()
    )


def ask_to_cancel(order: Order, *, op: str, now_ms: int) -> Order:
    """Store the buyer's wish on a held order; a worker closes the intent before it gives the seats back."""
    _require(order, Status.HELD)
    return _next(order, op, now_ms, duties={**order.duties, Duty.CLOSE: now_ms})


def try_again(order: Order, *, op: str, now_ms: int, method: str, name: str | None = None) -> Order:
    """Write another payment try on a held order whose last one was declined; `name` is what its repeats are known by.

    Whether the hold is over is not known here: its end may have been put off while an intent could not be closed.
    """
    _require(order, Status.HELD)
    if Duty.CLOSE in order.duties:
        raise Conflicting("You cancelled this order; it takes no payment any more.", code="order-cancelling")
    if order.payment.state is not PaymentState.DECLINED:
        raise Conflicting("The last payment try is still under way.", code="payment-in-progress")
    if order.payment.attempt >= MAX_ATTEMPTS:
        raise Conflicting(f"An order may be tried {MAX_ATTEMPTS} times.", code="too-many-attempts")
    payment = replace(
        order.payment,
        method=method,
        attempt=order.payment.attempt + 1,
        state=PaymentState.OPEN,
        decline_code=None,
        try_names=order.payment.try_names if name is None else (*order.payment.try_names, name),
    )
    return _next(order, op, now_ms, payment=payment, duties={**order.duties, Duty.PAY: now_ms})


def look_now(order: Order, *, op: str, now_ms: int) -> Order:
    """Note that the payment service has news; the worker that reads it asks there."""
    return _next(order, op, now_ms, duties={**order.duties, Duty.CHECK: now_ms})


def note_payment(order: Order, payment: Payment, duties: Mapping[Duty, int], *, op: str, now_ms: int) -> Order:
    """Store what the payment service said and what follows from it, without a change of status."""
    return _next(order, op, now_ms, payment=payment, duties=duties, failures=0)


def confirm(
    order: Order, payment: Payment, *, op: str, now_ms: int, tickets: tuple[str, ...], fulfilment: bool = False
) -> Order:
    """Turn a paid (or free) hold into tickets, one code per seat."""
    _require(order, Status.HELD)
    if len(tickets) != order.quantity:
        raise ValueError("a ticket code per seat")
    duties = {Duty.FULFIL: now_ms} if fulfilment else {}
    return _next(
        order, op, now_ms, status=Status.CONFIRMED, payment=payment, duties=duties, tickets=tickets, failures=0
    )


def release(order: Order, payment: Payment, *, op: str, now_ms: int, status: Status, reason: Reason) -> Order:
    """End a hold without tickets: EXPIRED or CANCELLED. The store gives the seats back in the same transaction."""
    _require(order, Status.HELD)
    if status not in {Status.EXPIRED, Status.CANCELLED}:
        raise ValueError(f"a hold does not end as {status}")
    return _next(order, op, now_ms, status=status, reason=reason, payment=payment, duties={}, failures=0)


def owe_refund(order: Order, payment: Payment, *, op: str, now_ms: int, due_minor: int) -> Order:
    """Note that `due_minor` in all is to be paid back; the running total never falls, nor exceeds what was captured."""
    due = min(max(due_minor, payment.refund_due_minor), payment.captured_minor)
    return _next(
        order,
        op,
        now_ms,
        payment=replace(payment, refund_due_minor=due),
        duties={**order.duties, Duty.REFUND: now_ms},
        failures=0,
    )


def refund_part(order: Order, *, op: str, now_ms: int, total_minor: int) -> Order:
    """Owe a buyer who keeps the tickets `total_minor` in all.

    Conflicting above what was captured, and below what is owed already. A total can be asked for again without
    being paid twice.
    """
    _require(order, Status.CONFIRMED)
    payment = order.payment
    if total_minor > payment.captured_minor:
        raise Conflicting(
            "More was asked back than was paid.", code="refund-above-payment", captured_minor=payment.captured_minor
        )
    if total_minor < payment.refund_due_minor:
        raise Conflicting(
            "More than this is paid back already; a total only grows.",
            code="refund-below-earlier",
            refund_due_minor=payment.refund_due_minor,
        )
    return owe_refund(order, payment, op=op, now_ms=now_ms, due_minor=total_minor)


def refund_whole(order: Order, *, op: str, now_ms: int, reason: Reason) -> Order:
    """End a confirmed order: its tickets are void, what was paid goes back, and so do its seats, by the store."""
    _require(order, Status.CONFIRMED)
    payment = replace(order.payment, refund_due_minor=order.payment.captured_minor)
    owes = payment.refund_due_minor > payment.refunded_minor
    return _next(
        order,
        op,
        now_ms,
        status=Status.REFUNDED,
        reason=reason,
        payment=payment,
        duties={Duty.REFUND: now_ms} if owes else {},
        parked=None,
        failures=0,
    )


def fail(order: Order, duties: Mapping[Duty, int], *, op: str, now_ms: int, error: str) -> Order:
    """Put duties off after a failure of the order itself, which is counted and remembered."""
    return _next(
        order,
        op,
        now_ms,
        duties=duties,
        failures=order.failures + 1,
        history=remember(order.history, Trouble(now_ms, TroubleKind.FAILED, _duty(order), error)),
    )


def wait_for_service(order: Order, duties: Mapping[Duty, int], *, op: str, now_ms: int) -> Order:
    """Put duties off while the payment service is silent, which is no failure of the order; the buyer is told."""
    since_ms = order.payment.silent_since_ms or now_ms
    return _next(order, op, now_ms, duties=duties, payment=replace(order.payment, silent_since_ms=since_ms))


def rejoin(order: Order, *, op: str, now_ms: int) -> Order:
    """Put a delayed order back to its own old place in line."""
    _require(order, Status.QUEUED)
    return _next(order, op, now_ms, duties={})


def park(order: Order, *, op: str, now_ms: int, error: str) -> Order:
    """Set the order aside for a person; its duties stay in it for the redrive."""
    duty = _duty(order)
    return _next(
        order,
        op,
        now_ms,
        parked=Parked(now_ms, error[:MAX_ERROR_CHARS], duty),
        failures=order.failures + 1,
        history=remember(order.history, Trouble(now_ms, TroubleKind.PARKED, duty, error)),
    )


def redrive(order: Order, *, op: str, now_ms: int, who: str = "") -> Order:
    """Take a parked order up again with fresh attempts; every duty that was due is due now."""
    if order.parked is None:
        raise Conflicting("The order is not parked.", code="not-parked")
    return _next(
        order,
        op,
        now_ms,
        parked=None,
        failures=0,
        # A service that was silent before has its whole time again.
        payment=replace(order.payment, silent_since_ms=None),
        history=remember(order.history, Trouble(now_ms, TroubleKind.REDRIVEN, order.parked.duty, who)),
    )


def _duty(order: Order) -> str:
    due = order.next_due
    return str(due[1]) if due else str(Lane.LINE)


def _require(order: Order, status: Status) -> None:
    if order.status is not status:
        raise Conflicting(f"The order is {order.status}, not {status}.", code=f"order-{order.status}")


def _next(order: Order, op: str, now_ms: int, **changes: Any) -> Order:  # noqa: ANN401 - as `replace` takes them
    return with_step(order, replace(order, rev=order.rev + 1, op=op, updated_at_ms=now_ms, **changes))
