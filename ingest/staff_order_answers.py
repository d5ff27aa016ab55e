"""What staff and their programs are told of single orders; never how to pay."""

from __future__ import annotations

from pydantic import Field

from ingest.hand_out import Handed
from ingest.parked_orders import ParkedPage
from ingest.responses import Answer, LineAnswer, MoneyAnswer, money_answer
from shared.domain.money import Money
from shared.domain.order import Order, Status
from shared.domain.times import format_time_ms
from shared.domain.trouble import Trouble


class SeatAnswer(Answer):
    """Seats that the order holds or held, by pool and slice."""

    pool_id: str
    slice: int
    quantity: int


class StaffPaymentAnswer(Answer):
    """The money side."""

    state: str
    attempt: int
    intent_id: str | None = None
    decline_code: str | None = None
    captured: MoneyAnswer
    refund_due: MoneyAnswer
    refunded: MoneyAnswer
    silent_since: str | None = Field(default=None, description="Since when the payment service owes an answer.")


class TroubleAnswer(Answer):
    """One entry of what went wrong and what was done about it."""

    at: str
    kind: str = Field(description="failed, parked or redriven.")
    duty: str
    note: str


class ParkedAnswer(Answer):
    """Why and when the order was set aside."""

    at: str
    age_s: float
    error: str
    duty: str = Field(description="What was due then; `line`: seats.")
    hidden_until: str | None = Field(default=None, description="A program outside has it in hand until then.")


class StaffOrderAnswer(Answer):
    """An order with everything that a person needs to decide."""

    order_id: str
    event_id: str
    shard: int
    status: Status
    reason: str | None = None
    buyer_id: str
    accepted_at: str
    updated_at: str | None = None
    rev: int
    lines: list[LineAnswer]
    amount: MoneyAnswer
    seats: list[SeatAnswer]
    payment: StaffPaymentAnswer
    duties: dict[str, str] = Field(description="What is still to do, with its time.")
    failures: int
    parked: ParkedAnswer | None = None
    history: list[TroubleAnswer] = Field(description="The newest entries, oldest first.")


class ParkedPageAnswer(Answer):
    """A page of parked orders. It may be short or empty and still have a `cursor`: go on until there is none."""

    orders: list[StaffOrderAnswer]
    examined: int
    unreadable: list[str] = Field(description="Orders that could not be read, as event/order.")
    cursor: str | None = None


class RedriveAnswer(Answer):
    """What one page of a redrive came to."""

    matched: int
    redriven: int
    examined: int
    unreadable: list[str]
    cursor: str | None = None


class HandedAnswer(Answer):
    """An order in the caller's hands."""

    receipt: str = Field(description="Show it to extend, complete or give back.")
    hidden_until: str
    order: StaffOrderAnswer
    holder: str | None = None
    tickets: list[str] | None = None


class PullAnswer(Answer):
    """Orders that were taken; none is no proof that none waits."""

    items: list[HandedAnswer]


class ReceiptAnswer(Answer):
    """What became of an order in hand."""

    order_id: str
    event_id: str
    status: Status
    hidden_until: str | None = None


def staff_order_answer(order: Order, now_ms: int) -> StaffOrderAnswer:
    """Write an order for staff."""
    currency = order.amount.currency
    return StaffOrderAnswer(
        order_id=order.key.order_id,
        event_id=order.key.event_id,
        shard=order.key.shard,
        status=order.status,
        reason=None if order.reason is None else str(order.reason),
        buyer_id=order.buyer_id,
        accepted_at=format_time_ms(order.accepted_at_ms),
        updated_at=format_time_ms(order.updated_at_ms) if order.updated_at_ms else None,
        rev=order.rev,
        lines=[
            LineAnswer(
                ticket_type_id=line.ticket_type_id,
                quantity=line.quantity,
                price=money_answer(Money(line.price_minor, currency)),
            )
            for line in order.lines
        ],
        amount=money_answer(order.amount),
        seats=[SeatAnswer(pool_id=part.pool_id, slice=part.slice_no, quantity=part.quantity) for part in order.seats],
        payment=_payment(order),
        duties={str(duty): format_time_ms(at_ms) for duty, at_ms in sorted(order.duties.items())},
        failures=order.failures,
        parked=_parked(order, now_ms),
        history=[_trouble(entry) for entry in order.history],
    )


def parked_page_answer(page: ParkedPage, now_ms: int) -> ParkedPageAnswer:
    """Write a page."""
    return ParkedPageAnswer(
        orders=[staff_order_answer(order, now_ms) for order in page.orders],
        examined=page.examined,
        unreadable=page.unreadable,
        cursor=page.cursor,
    )


def redrive_answer(page: ParkedPage) -> RedriveAnswer:
    """Write what a page of a redrive came to."""
    return RedriveAnswer(
        matched=len(page.orders),
        redriven=page.redriven,
        examined=page.examined,
        unreadable=page.unreadable,
        cursor=page.cursor,
    )


def handed_answer(handed: Handed, now_ms: int, *, tickets: bool) -> HandedAnswer:
    """Write an order in hand; with `tickets` also what is to be handed over."""
    order = handed.order
    return HandedAnswer(
        receipt=handed.receipt,
        hidden_until=format_time_ms(handed.until_ms),
        order=staff_order_answer(order, now_ms),
        holder=order.holder if tickets else None,
        tickets=list(order.tickets) if tickets else None,
    )


def receipt_answer(order: Order, until_ms: int | None = None) -> ReceiptAnswer:
    """Write what became of an order in hand."""
    return ReceiptAnswer(
        order_id=order.key.order_id,
        event_id=order.key.event_id,
        status=order.status,
        hidden_until=None if until_ms is None else format_time_ms(until_ms),
    )


def _payment(order: Order) -> StaffPaymentAnswer:
    payment, currency = order.payment, order.amount.currency
    return StaffPaymentAnswer(
        state=str(payment.state),
        attempt=payment.attempt,
        intent_id=payment.intent_id,
        decline_code=payment.decline_code,
        captured=money_answer(Money(payment.captured_minor, currency)),
        refund_due=money_answer(Money(payment.refund_due_minor, currency)),
        refunded=money_answer(Money(payment.refunded_minor, currency)),
        silent_since=None if payment.silent_since_ms is None else format_time_ms(payment.silent_since_ms),
    )


def _parked(order: Order, now_ms: int) -> ParkedAnswer | None:
    parked = order.parked
    if parked is None:
        return None
    hidden = parked.taken is not None and parked.taken.until_ms > now_ms
    return ParkedAnswer(
        at=format_time_ms(parked.at_ms),
        age_s=max(0, now_ms - parked.at_ms) / 1000,
        error=parked.error,
        duty=parked.duty,
        hidden_until=format_time_ms(parked.taken.until_ms) if hidden and parked.taken is not None else None,
    )


def _trouble(entry: Trouble) -> TroubleAnswer:
    return TroubleAnswer(at=format_time_ms(entry.at_ms), kind=str(entry.kind), duty=entry.duty, note=entry.note)
