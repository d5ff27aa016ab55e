"""What may be wrong with the payment service in a bench."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    """Killed, or every answer 5 s late."""

    DEAD = "dead"
    SLOW = "slow"
