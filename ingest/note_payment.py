"""The payment service has news of a payment: an order is marked to be looked at, and nothing else is believed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ingest.parts import Parts
from shared.domain.errors import Contended, NotFound, Unavailable
from shared.domain.order import Order, PaymentState, Status
from shared.domain.order_id import OrderKey
from shared.domain.orphan import make_orphan
from shared.domain.transitions import look_now

if TYPE_CHECKING:
    from shared.ports.payment import PaymentNotice

# Each further round means that somebody else wrote the order between our read and our write; twenty webhooks at once
# are one burst of a payment service.
MAX_ROUNDS = 25
# News of an order that is not stored this long after its payment moved is news of an order that never will be.
ORPHAN_AFTER_MS = 120_000
RETRY_AFTER_S = 5.0
# What workers bring about themselves says nothing new.
_OWN_DOING = frozenset({"payment_intent.created"})
_KNOWN_AS = {"payment_intent.succeeded": PaymentState.PAID, "payment_intent.canceled": PaymentState.CLOSED}


class Noted(StrEnum):
    """What became of a notice, in a word."""

    STORED = "stored"
    """The order is marked to be looked at now."""
    KNOWN = "known"
    """The order shows already what the notice is about."""
    ORPHANED = "orphaned"
    """No such order will ever be; a stand-in is stored whose duty is to pay the money back."""
    FOREIGN = "foreign"
    """The payment carries no valid tag of this environment and is left alone."""
    IRRELEVANT = "irrelevant"
    """The notice is about no payment intent, or tells what we did ourselves."""


def note_payment(parts: Parts, notice: PaymentNotice) -> Noted:
    """Store that a payment is to be looked at, by one conditional write; the payment service is never asked here.

    Unavailable when it could not be stored, or while an order may still appear: the payment service sends it again.
    """
    if notice.intent_id is None or notice.kind in _OWN_DOING:
        return Noted.IRRELEVANT
    if notice.order_key is None:
        return Noted.FOREIGN
    order = parts.store.get_order(notice.order_key)
    for _ in range(MAX_ROUNDS):
        if order is None:
            order = _stand_in(parts, notice, notice.order_key, notice.intent_id)
            if order is None:
                return Noted.ORPHANED
        if _is_known(order, notice):
            return Noted.KNOWN
        noted = look_now(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms())
        saved = parts.store.save(noted, seen_rev=order.rev)
        if saved.done:
            return Noted.STORED
        order = saved.order
    raise Contended


def _is_known(order: Order, notice: PaymentNotice) -> bool:
    """Say whether a worker has drawn the consequence of this very news already."""
    payment = order.payment
    if payment.intent_id != notice.intent_id or order.status is Status.HELD or order.is_orphan:
        return False
    return _KNOWN_AS.get(notice.kind) is payment.state


def _stand_in(parts: Parts, notice: PaymentNotice, key: OrderKey, intent_id: str) -> Order | None:
    """Store an orphan in the order's place; return the order if one appeared meanwhile."""
    now_ms = parts.clock.now_ms()
    if now_ms - notice.created_at_ms < ORPHAN_AFTER_MS:
        raise Unavailable("The order of this payment is not stored yet; send it again.", retry_after_s=RETRY_AFTER_S)
    orphan = make_orphan(key, intent_id=intent_id, currency=_currency(parts, key), op=parts.ids.op_id(), now_ms=now_ms)
    accepted = parts.store.accept(orphan)
    return None if accepted.created else accepted.order


def _currency(parts: Parts, key: OrderKey) -> str:
    try:
        return parts.sales.get(key.event_id).sale.currency
    except NotFound:
        # Not even the sale is here. ISO 4217: no currency.
        return "XXX"
