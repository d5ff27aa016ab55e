"""Records as Stripe's JSON objects (https://docs.stripe.com/api). Times become whole seconds."""

from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.payment_service.records import Charge, ChargeStatus, Intent, Refund, Status

CHARGE_REFUSED = {"network_status": "declined_by_network", "type": "issuer_declined"}
CHARGE_TAKEN = {"network_status": "approved_by_network", "type": "authorized"}


def seconds(at_ms: int | None) -> int | None:
    """Milliseconds since the epoch as whole seconds."""
    return None if at_ms is None else at_ms // 1000


def intent_json(intent: Intent, charge: Charge | None = None) -> dict[str, Any]:
    """A PaymentIntent; `latest_charge` is an object when `charge` is given, else an id."""
    return {
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        "amount_capturable": 0,
        "amount_received": intent.captured,
        "automatic_payment_methods": None,
        "canceled_at": seconds(intent.canceled_at_ms),
        "cancellation_reason": intent.cancellation_reason,
        "capture_method": "automatic",
        "client_secret": intent.client_secret,
        "confirmation_method": "automatic",
        "created": seconds(intent.created_at_ms),
        "currency": intent.currency,
        "customer": None,
        "description": intent.description,
        "last_payment_error": intent.last_error,
        "latest_charge": charge_json(charge, intent) if charge else intent.latest_charge,
        "livemode": False,
        "metadata": dict(intent.metadata),
        "next_action": {"type": "use_stripe_sdk", "use_stripe_sdk": {}}
        if intent.status is Status.REQUIRES_ACTION
        else None,
        "payment_method": intent.payment_method,
        "payment_method_types": ["card"],
        "receipt_email": None,
        "setup_future_usage": None,
        "status": str(intent.status),
    }


def public_intent_json(intent: Intent) -> dict[str, Any]:
    """A PaymentIntent as a publishable key sees it: without our metadata."""
    whole = intent_json(intent)
    return {key: value for key, value in whole.items() if key not in {"metadata", "latest_charge", "customer"}}


def charge_json(charge: Charge, intent: Intent) -> dict[str, Any]:
    """A Charge; what was refunded is known from its intent, on which at most one charge succeeds."""
    taken = charge.status is ChargeStatus.SUCCEEDED
    refunded = intent.refunded if taken else 0
    return {
        "id": charge.id,
        "object": "charge",
        "amount": charge.amount,
        "amount_captured": charge.amount if taken else 0,
        "amount_refunded": refunded,
        "captured": taken,
        "created": seconds(charge.created_at_ms),
        "currency": charge.currency,
        "description": intent.description,
        "disputed": False,
        "failure_code": charge.decline.code if charge.decline else None,
        "failure_message": charge.decline.message if charge.decline else None,
        "livemode": False,
        "metadata": dict(intent.metadata),
        "outcome": {**CHARGE_REFUSED, "reason": charge.decline.decline_code}
        if charge.decline
        else {**CHARGE_TAKEN, "reason": None},
        "paid": taken,
        "payment_intent": intent.id,
        "payment_method": charge.payment_method,
        "refunded": taken and refunded == charge.amount,
        "status": str(charge.status),
    }


def refund_json(refund: Refund) -> dict[str, Any]:
    """A Refund."""
    return {
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "charge": refund.charge_id,
        "created": seconds(refund.created_at_ms),
        "currency": refund.currency,
        "destination_details": {"card": {"type": "refund"}, "type": "card"},
        "metadata": dict(refund.metadata),
        "payment_intent": refund.intent_id,
        "reason": refund.reason,
        "status": "succeeded",
    }


def list_json(url: str, data: Sequence[Mapping[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """A page of a list."""
    return {"object": "list", "data": list(data), "has_more": has_more, "url": url}


def search_json(url: str, data: Sequence[Mapping[str, Any]], next_page: str | None) -> dict[str, Any]:
    """A page of a search."""
    return {
        "object": "search_result",
        "data": list(data),
        "has_more": next_page is not None,
        "next_page": next_page,
        "url": url,
    }


def event_json(
    event_id: str,
    kind: str,
    data: Mapping[str, Any],
    *,
    created_at_ms: int,
    api_version: str,
    idempotency_key: str | None,
) -> dict[str, Any]:
    """An Event, as it is sent to a webhook endpoint."""
    return {
        "id": event_id,
        "object": "event",
        "api_version": api_version,
        "created": seconds(created_at_ms),
        "data": {"object": data},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": idempotency_key},
        "type": kind,
    }
