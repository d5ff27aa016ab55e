"""The payment service."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from msgspec import Struct

from shared.domain.discreet import Discreet

if TYPE_CHECKING:
    from shared.domain.money import Money
    from shared.domain.order_id import OrderKey


class IntentStatus(StrEnum):
    """How an intent stands at the payment service."""

    OPEN = "open"
    """It can still be paid; the last try, if any, was declined."""
    PROCESSING = "processing"
    """The money is on its way, and the intent cannot be closed now."""
    SUCCEEDED = "succeeded"
    CLOSED = "closed"
    """It can never be paid any more."""


class Intent(Discreet, frozen=True):
    """A payment intent as the payment service tells it.

    `order_key` is None when the intent carries no valid tag of this environment: it is not ours, and is never touched.
    """

    hidden: ClassVar = frozenset({"client_secret"})

    intent_id: str
    status: IntentStatus
    amount: Money
    captured_minor: int
    refunded_minor: int
    client_secret: str | None
    decline_code: str | None
    order_key: OrderKey | None
    created_at_ms: int


class IntentPage(Struct, frozen=True):
    """Some intents, newest first; `cursor` is None at the end."""

    intents: tuple[Intent, ...]
    cursor: str | None


class PaymentNotice(Struct, frozen=True):
    """That something happened to an intent, and no more: what, the payment service tells whoever asks.

    `intent_id` is None for events that are about no intent; `order_key` is None when the object carries no valid tag of
    ours, and then the intent is not ours as far as this event shows.
    """

    notice_id: str
    kind: str
    intent_id: str | None
    order_key: OrderKey | None
    created_at_ms: int


class NoticeReader(Protocol):
    """Reads what the payment service sends on its own."""

    def read(self, payload: bytes, signature: str | None) -> PaymentNotice:
        """Return what a webhook is about; Invalid for a bad signature, one that is too old, or the other mode."""
        ...


class PaymentGateway(Protocol):
    """The payment service. Every method may raise `Unavailable`; nothing else than `Intent` is believed."""

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:
        """Create the order's one intent, never confirmed, or fetch it: repeatable for ever, never a second one.

        `since_ms` is when the order could first have asked; None: just now. Payment services forget after a day that
        they were asked, so past that the order's tag is looked for before anything is created.
        """
        ...

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        """Carry out one written try; repeatable under the same attempt. A decline is an OPEN intent with its code."""
        ...

    def fetch(self, intent_id: str) -> Intent:
        """Read one intent; NotFound when the payment service has none of that id."""
        ...

    def close_intent(self, intent: Intent) -> Intent:
        """Cancel the intent if that is still possible, and return how it then stands."""
        ...

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        """Bring what was paid back of the intent up to `total_minor`; repeatable, never above it."""
        ...

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        """Page through what the payment service knows, for reconciliation and verification."""
        ...
