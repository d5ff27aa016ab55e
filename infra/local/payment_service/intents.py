"""The life of a PaymentIntent, pure: a state and what happens give the next state, a charge, an event, a decline.

An intent succeeds at most once; a decline puts it back to `requires_payment_method`; a processing or succeeded one
cannot be cancelled. Source: https://docs.stripe.com/payments/paymentintents/lifecycle
"""

from dataclasses import dataclass, replace
from typing import assert_never

from infra.local.payment_service.methods import (
    AUTHENTICATION,
    NOT_AUTHENTICATED,
    Decline,
    Declines,
    NeedsAction,
    Outcome,
    Processes,
    Succeeds,
)
from infra.local.payment_service.records import Charge, ChargeStatus, Intent, Status

CONFIRMABLE = frozenset({Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_CONFIRMATION, Status.REQUIRES_ACTION})
CANCELABLE = CONFIRMABLE


class WrongState(Exception):
    """The intent is not in a state that allows the call; the message is Stripe's sentence."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one call did: the intent afterwards, the charge it made or changed, the event to tell, the decline met."""

    intent: Intent
    event: str
    charge: Charge | None = None
    decline: Decline | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One confirmation: the method, the outcome it will have, and what the new charge is called."""

    method_id: str
    outcome: Outcome
    off_session: bool
    charge_id: str
    now_ms: int
    settle_delay_ms: int


def check_confirmable(intent: Intent) -> None:
    """Raise `WrongState` for an intent that is done, closed or being processed."""
    if intent.status not in CONFIRMABLE:
        raise WrongState(
            f"You cannot confirm this PaymentIntent because it has a status of {intent.status}. Only a PaymentIntent "
            f"with one of the following statuses may be confirmed: {', '.join(sorted(CONFIRMABLE))}."
        )


def confirm(intent: Intent, attempt: Attempt) -> Move:
    """Try to take the money; raises `WrongState` for an intent that is done, closed or being processed."""
    check_confirmable(intent)
    tried = replace(intent, payment_method=attempt.method_id, last_error=None)
    match attempt.outcome:
        case Succeeds():
            return _succeeded(tried, _charge(tried, attempt, ChargeStatus.SUCCEEDED))
        case Declines(decline):
            return _declined(tried, _charge(tried, attempt, ChargeStatus.FAILED, decline))
        case Processes(decline):
            charge = _charge(tried, attempt, ChargeStatus.PENDING)
            waiting = replace(
                tried,
                status=Status.PROCESSING,
                latest_charge=charge.id,
                settle_at_ms=attempt.now_ms + attempt.settle_delay_ms,
                settle_decline=decline,
            )
            return Move(waiting, "payment_intent.processing", charge)
        case NeedsAction():
            if attempt.off_session:
                return _declined(tried, _charge(tried, attempt, ChargeStatus.FAILED, AUTHENTICATION))
            return Move(replace(tried, status=Status.REQUIRES_ACTION), "payment_intent.requires_action")
        case _:
            assert_never(attempt.outcome)


def authenticate(intent: Intent, attempt: Attempt, *, proven: bool) -> Move:
    """The buyer proved who they are, or did not; only while an action is required."""
    if intent.status is not Status.REQUIRES_ACTION:
        raise WrongState(f"There is nothing to authenticate: this PaymentIntent has a status of {intent.status}.")
    if proven:
        return _succeeded(intent, _charge(intent, attempt, ChargeStatus.SUCCEEDED))
    return _declined(intent, _charge(intent, attempt, ChargeStatus.FAILED, NOT_AUTHENTICATED))


def settle(intent: Intent, charge: Charge, decline: Decline | None) -> Move:
    """The bank's late answer for a processing intent: the pending charge succeeds, or fails with `decline`."""
    if intent.status is not Status.PROCESSING:
        raise WrongState(f"There is nothing to settle: this PaymentIntent has a status of {intent.status}.")
    if decline is None:
        return _succeeded(intent, replace(charge, status=ChargeStatus.SUCCEEDED))
    return _declined(intent, replace(charge, status=ChargeStatus.FAILED, decline=decline))


def cancel(intent: Intent, *, reason: str | None, now_ms: int) -> Move:
    """Close the intent for good; raises `WrongState` once money has moved or may be moving."""
    if intent.status not in CANCELABLE:
        raise WrongState(
            f"You cannot cancel this PaymentIntent because it has a status of {intent.status}. Only a PaymentIntent "
            f"with one of the following statuses may be canceled: {', '.join(sorted(CANCELABLE))}."
        )
    closed = replace(intent, status=Status.CANCELED, canceled_at_ms=now_ms, cancellation_reason=reason)
    return Move(closed, "payment_intent.canceled")


def _charge(intent: Intent, attempt: Attempt, status: ChargeStatus, decline: Decline | None = None) -> Charge:
    return Charge(
        id=attempt.charge_id,
        intent_id=intent.id,
        created_at_ms=attempt.now_ms,
        amount=intent.amount,
        currency=intent.currency,
        payment_method=attempt.method_id,
        status=status,
        decline=decline,
    )


def _succeeded(intent: Intent, charge: Charge) -> Move:
    paid = replace(
        intent,
        status=Status.SUCCEEDED,
        captured=charge.amount,
        latest_charge=charge.id,
        settle_at_ms=None,
        settle_decline=None,
    )
    return Move(paid, "payment_intent.succeeded", charge)


def _declined(intent: Intent, charge: Charge) -> Move:
    decline = charge.decline
    if decline is None:
        raise WrongState("A failed charge must say why it failed.")
    back = replace(
        intent,
        status=Status.REQUIRES_PAYMENT_METHOD,
        payment_method=None,
        latest_charge=charge.id,
        settle_at_ms=None,
        settle_decline=None,
        last_error={
            "type": "card_error",
            "charge": charge.id,
            "code": decline.code,
            "decline_code": decline.decline_code,
            "message": decline.message,
            "payment_method": {"id": charge.payment_method, "object": "payment_method", "type": "card"},
        },
    )
    return Move(back, "payment_intent.payment_failed", charge, decline)
