"""Stripe's answers and errors in our own words. Nothing of Stripe's passes this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import stripe

from shared.domain.errors import AnswerLost, Broken, Contended, Throttled, Unavailable
from shared.payments.charges import money_of, rounded_money_of
from shared.payments.tags import Tags
from shared.ports.payment import Intent, IntentStatus

HTTP_CONFLICT = 409
HTTP_SERVER_ERROR = 500

# https://docs.stripe.com/payments/paymentintents/lifecycle
_STATUS = {
    "requires_payment_method": IntentStatus.OPEN,
    "requires_confirmation": IntentStatus.OPEN,
    "requires_action": IntentStatus.OPEN,
    "requires_capture": IntentStatus.OPEN,
    "processing": IntentStatus.PROCESSING,
    "succeeded": IntentStatus.SUCCEEDED,
    "canceled": IntentStatus.CLOSED,
}


def to_intent(told: stripe.PaymentIntent, tags: Tags) -> Intent:
    """Return a PaymentIntent (its `latest_charge` expanded) as an intent; Broken when our own is told in fractions."""
    body = told.to_dict()
    key = tags.order_key(body.get("metadata") or {})
    # Intents of others are only listed, so that an odd amount of theirs stops nobody.
    money = rounded_money_of if key is None else money_of
    # A status that is new to us keeps the hold and is asked about again, until a person sees it.
    status = _STATUS.get(body["status"], IntentStatus.PROCESSING)
    charge, failure, currency = body.get("latest_charge"), body.get("last_payment_error") or {}, body["currency"]
    refunded = charge.get("amount_refunded", 0) if isinstance(charge, dict) else 0
    # Captured automatically, so what has succeeded was taken whole.
    captured = body.get("amount_received", body["amount"] if status is IntentStatus.SUCCEEDED else 0)
    return Intent(
        intent_id=body["id"],
        status=status,
        amount=money(body["amount"], currency),
        captured_minor=money(captured, currency).minor,
        refunded_minor=money(refunded, currency).minor,
        client_secret=body.get("client_secret"),
        decline_code=failure.get("decline_code") or failure.get("code"),
        order_key=key,
        created_at_ms=body["created"] * 1000,
    )


def is_replayed(headers: Mapping[str, Any] | None) -> bool:
    """Say whether an answer is the stored one of an earlier request, and so may be out of date."""
    return (headers or {}).get("Idempotent-Replayed") == "true"


def replayed_failure(error: stripe.StripeError) -> bool:
    """Say whether a failure of the service is the stored one of an earlier request, which repeats cannot get past."""
    return (error.http_status or 0) >= HTTP_SERVER_ERROR and is_replayed(error.headers)


@contextmanager
def reading() -> Iterator[None]:
    """Translate the errors of a call that changes nothing."""
    try:
        yield
    except stripe.StripeError as error:
        raise _translated(error, lost=Unavailable) from None


@contextmanager
def writing() -> Iterator[None]:
    """Translate the errors of a call that may have been carried out although its answer is missing."""
    try:
        yield
    except stripe.StripeError as error:
        raise _translated(error, lost=AnswerLost) from None


def _translated(error: stripe.StripeError, *, lost: type[Unavailable]) -> Unavailable | Broken:
    match error:
        case stripe.RateLimitError():
            return Throttled(reason=error.code or "rate_limit", resource="payment service")
        case stripe.AuthenticationError() | stripe.PermissionError():
            # A key that was rotated too early must not set orders aside: they wait until it is mended.
            return Unavailable("The payment service refuses our key; set ONSALE_PAYMENT_KEY to one that is valid.")
        case stripe.InvalidRequestError() | stripe.IdempotencyError():
            return Broken(
                f"The payment service does not take our request (code {error.code or 'none'}, parameter "
                f"{getattr(error, 'param', None) or 'none'}, request {error.request_id or 'unknown'})."
            )
    if error.http_status == HTTP_CONFLICT:
        return Contended("The payment service is still busy with the same request; repeat it shortly.")
    return lost("The payment service did not answer as it should; repeat the same request shortly.")
