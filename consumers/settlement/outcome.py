"""What became of an order's due duties: the next version of the order, and a word for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shared.domain.order import Order


class Outcome(StrEnum):
    """One settling, in a word; also the name of its counter."""

    NOTHING = "nothing"
    """Nothing was due: the hint was late, or another worker was faster."""
    NOT_OURS = "not_ours"
    """What is due waits for somebody outside."""
    REJOINED = "rejoined"
    CONFIRMED = "confirmed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DECLINED = "declined"
    AWAITED = "awaited"
    """The buyer or the payment service has the next word; we ask again later."""
    REFUND_OWED = "refund_owed"
    REFUNDED = "refunded"
    PUT_OFF = "put_off"
    """The payment service does not answer."""
    FAILED = "failed"
    PARKED = "parked"
    LOST_RACE = "lost_race"
    """Another writer changed the order meanwhile; it is read again with its next duty."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Step:
    """The order's next version, not yet written."""

    order: Order
    outcome: Outcome
