"""Webhooks of the payment service: verified, and read no further than "look at this intent now".

Source: https://docs.stripe.com/webhooks (signatures, age tolerance, rotation of secrets).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import stripe

from shared.domain.errors import Invalid
from shared.ports.payment import PaymentNotice

if TYPE_CHECKING:
    from shared.payments.tags import Tags

TOLERANCE_S = 300


class Webhooks:
    """Reads webhooks signed with any of `secrets`, of live mode or of test mode."""

    def __init__(self, secrets: tuple[str, ...], *, tags: Tags, live: bool, tolerance_s: int = TOLERANCE_S) -> None:
        self._secrets = secrets
        self._tags = tags
        self._live = live
        self._tolerance_s = tolerance_s

    def read(self, payload: bytes, signature: str | None) -> PaymentNotice:
        """Return what a webhook is about; Invalid for a bad signature, one that is too old, or the other mode."""
        self._verify(payload, signature)
        event = _object(payload)
        if event.get("livemode") is not self._live:
            raise Invalid("The webhook is of the other mode (live or test).", code="webhook-mode", field="livemode")
        notice_id, kind, created = event.get("id"), event.get("type"), event.get("created")
        if not isinstance(notice_id, str) or not isinstance(kind, str) or not isinstance(created, int):
            raise Invalid("The webhook has no id, type or time.", code="webhook-body", field="id")
        about = _inner(event, "data", "object")
        return PaymentNotice(
            notice_id=notice_id,
            kind=kind,
            intent_id=_intent_id(about),
            order_key=self._tags.order_key(_texts(about.get("metadata"))),
            created_at_ms=created * 1000,
        )

    def _verify(self, payload: bytes, signature: str | None) -> None:
        try:
            text = payload.decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid("The webhook's body is no UTF-8.", code="webhook-body") from None
        if signature is None or not signature.isascii():
            raise _unsigned()
        for secret in self._secrets:
            try:
                stripe.WebhookSignature.verify_header(text, signature, secret, self._tolerance_s)
            except stripe.SignatureVerificationError:
                continue
            return
        raise _unsigned()


def _object(payload: bytes) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except ValueError:
        raise Invalid("The webhook's body is no JSON.", code="webhook-body") from None
    if not isinstance(event, dict):
        raise Invalid("The webhook's body is no JSON object.", code="webhook-body")
    return event


def _inner(event: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    place: Any = event
    for name in path:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}


def _intent_id(about: Mapping[str, Any]) -> str | None:
    told = about.get("id") if about.get("object") == "payment_intent" else about.get("payment_intent")
    # An expanded intent stands as an object where else its id does.
    told = told.get("id") if isinstance(told, Mapping) else told
    return told if isinstance(told, str) else None


def _texts(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        return {}
    return {key: value for key, value in metadata.items() if isinstance(key, str) and isinstance(value, str)}


def _unsigned() -> Invalid:
    return Invalid(
        "The webhook's signature is missing, wrong or too old.", code="webhook-signature", field="Stripe-Signature"
    )
