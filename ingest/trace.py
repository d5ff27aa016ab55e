"""An order's whole life, a row per step, from its own item: no other read, and nobody's personal data."""

from __future__ import annotations

from msgspec import Struct

from shared.domain.order import Duty, Order, Status
from shared.domain.trouble import TroubleKind

_SENTENCES = {
    "accepted": "The order was stored; the buyer was answered 202.",
    Status.HELD: "Seats were taken for it, and its first payment try or hand-off was written.",
    Status.CONFIRMED: "It was paid, and its tickets were issued.",
    Status.REJECTED: "It ended without seats.",
    Status.EXPIRED: "It was not paid in time; its seats were given back.",
    Status.CANCELLED: "It was cancelled; what seats it held were given back.",
    Status.REFUNDED: "It ended after payment: tickets void, money owed back, seats given back.",
    Status.SUPERSEDED: "Another order stands for its idempotency key.",
    "payment_open": "The payment intent is open; the buyer, or a try, has the next word.",
    "payment_declined": "The payment service declined the card.",
    "payment_processing": "The money is on its way and cannot be stopped.",
    "payment_paid": "The payment service has the money.",
    "payment_closed": "The payment intent was closed and can never be paid.",
    "paid_back": "Money was paid back.",
    "refund_owed": "Money is owed back.",
    "tried_again": "The buyer named another card.",
    "cancel_asked": "The buyer wants out; the intent is closed first.",
    "service_silent": "The payment service did not answer; what is due was put off.",
    "handed_out": "A program outside took it, kept it longer, or gave it back.",
    "fulfilled": "A program outside completed it.",
    "news": "The payment service sent news: look now.",
    "looked": "It was looked at, and its next look was set.",
    TroubleKind.FAILED: "A try failed and is repeated later.",
    TroubleKind.PARKED: "It was set aside for a person.",
    TroubleKind.REDRIVEN: "It was taken up again.",
}
_DUTIES = {
    Duty.PAY: "Carry out the payment try.",
    Duty.CHECK: "Ask the payment service how the intent stands.",
    Duty.HOLD_END: "End the hold, unless it is paid.",
    Duty.CLOSE: "Close the intent at the buyer's wish.",
    Duty.REFUND: "Pay money back.",
    Duty.REJOIN: "Stand in line again.",
    Duty.FULFIL: "Be taken by a program outside.",
}


class TraceRow(Struct, frozen=True):
    """One step: when first, how often in a row, when last; `note` has an error or a reason."""

    at_ms: int
    step: str
    sentence: str
    times: int = 1
    last_ms: int | None = None
    note: str | None = None


def trace_of(order: Order) -> list[TraceRow]:
    """Return the rows in the order of their times; the middle of a very long way is left out."""
    rows = [TraceRow(order.accepted_at_ms, "accepted", _SENTENCES["accepted"])]
    for step in order.steps:
        note = str(order.reason) if order.reason is not None and step.what == order.status else None
        sentence = _SENTENCES.get(step.what, step.what)
        rows.append(TraceRow(step.at_ms, str(step.what), sentence, step.times, step.last_ms, note))
    rows += [
        TraceRow(entry.at_ms, str(entry.kind), _SENTENCES[entry.kind], note=f"{entry.duty}: {entry.note}")
        for entry in order.history
    ]
    return sorted(rows, key=lambda row: row.at_ms)


def ahead_of(order: Order) -> list[tuple[int, Duty, str]]:
    """Return what is still due, earliest first: time, duty, and what it means."""
    return sorted((at_ms, duty, _DUTIES[duty]) for duty, at_ms in order.duties.items())
