"""What the books hold: intents, charges, refunds, events. Amounts are in Stripe's minor units, times in ms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from infra.local.payment_service.methods import Decline


class Status(StrEnum):
    """The states of a PaymentIntent: https://docs.stripe.com/payments/paymentintents/lifecycle (no manual capture)."""

    REQUIRES_PAYMENT_METHOD = "requires_payment_method"
    REQUIRES_CONFIRMATION = "requires_confirmation"
    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"


class ChargeStatus(StrEnum):
    """The states of a charge."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Intent:
    """One PaymentIntent. `seq` is its place in the books; `settle_at_ms` is set while it is processing."""

    id: str
    created_at_ms: int
    amount: int
    currency: str
    client_secret: str
    seq: int = 0
    status: Status = Status.REQUIRES_PAYMENT_METHOD
    captured: int = 0
    refunded: int = 0
    payment_method: str | None = None
    latest_charge: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    last_error: Mapping[str, Any] | None = None
    settle_at_ms: int | None = None
    settle_decline: Decline | None = None
    canceled_at_ms: int | None = None
    cancellation_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """One try to take an intent's money."""

    id: str
    intent_id: str
    created_at_ms: int
    amount: int
    currency: str
    payment_method: str
    status: ChargeStatus
    decline: Decline | None = None


@dataclass(frozen=True, slots=True)
class Refund:
    """Money given back on a succeeded charge."""

    id: str
    intent_id: str
    charge_id: str
    created_at_ms: int
    amount: int
    currency: str
    reason: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, as it is told to the webhook endpoint. `payload` is the JSON text that is sent."""

    id: str
    type: str
    intent_id: str
    subject: str
    created_at_ms: int
    payload: str
    seq: int = 0
