"""Who the bots are: every buyer is a pure function of seed and number, however they are spread over processes."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, fields
from typing import Any

# Payment methods that the local payment service, like Stripe's test mode, knows.
GOOD_CARD = "pm_card_visa"
BAD_CARD = "pm_card_chargeDeclined"
# The longest "at once": people press within a second or two of the opening.
AT_ONCE_S = 1.5


@dataclass(frozen=True, slots=True)
class Mix:
    """Which share of the buyers does what, each from 0 to 1; `repeat`, `foreign` and the rest may coincide.

    `second_card` is the share of those who were declined that have another card.
    """

    party_max: int = 4
    repeat: float = 0.10
    declined: float = 0.05
    second_card: float = 0.5
    vanish: float = 0.03
    hand_off: float = 0.04
    cancel: float = 0.03
    foreign: float = 0.03
    other_body: float = 0.01
    staff: float = 0.01

    @classmethod
    def calm(cls, party_max: int) -> Mix:
        """Nobody is declined, vanishes or cancels; requests are still repeated and doors still tried."""
        return cls(party_max=party_max, declined=0, vanish=0, hand_off=0, cancel=0)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Mix:
        """Read what `dataclasses.asdict` wrote."""
        return cls(**{part.name: value[part.name] for part in fields(cls)})


@dataclass(frozen=True, slots=True)
class Buyer:
    """One buyer's plan. `presses_after_s` counts from the start signal."""

    number: int
    buyer_id: str
    key: str
    quantity: int
    ticket_choice: float
    method: str | None
    presses_after_s: float
    pays_by_hand: bool
    repeats: bool
    cancels: bool
    looks_elsewhere: bool
    sends_other_body: bool
    tries_staff: bool
    has_second_card: bool

    def body(self, ticket_type_id: str, *, extra: int = 0) -> bytes:
        """Write the order; `extra` tickets make another body of it."""
        order: dict[str, Any] = {"lines": [{"ticket_type_id": ticket_type_id, "quantity": self.quantity + extra}]}
        if self.method is not None:
            order["payment_method"] = self.method
        return json.dumps(order, separators=(",", ":")).encode()


def body_sha256(body: bytes) -> str:
    """Name a body in a receipt."""
    return hashlib.sha256(body).hexdigest()


def make_buyer(seed: int, number: int, mix: Mix, *, spread_s: float) -> Buyer:
    """Draw buyer `number`, who presses within `spread_s`."""
    dice = random.Random(f"{seed}:{number}")
    presses_after_s = dice.random() * spread_s
    how = dice.random()
    vanishes = how < mix.vanish
    pays_by_hand = not vanishes and how < mix.vanish + mix.hand_off
    declined = not (vanishes or pays_by_hand) and how < mix.vanish + mix.hand_off + mix.declined
    card = BAD_CARD if declined else GOOD_CARD
    return Buyer(
        number=number,
        buyer_id=f"bot-{number:07d}",
        key=f"{seed:x}-{number:x}-{dice.getrandbits(64):016x}",
        quantity=dice.randint(1, mix.party_max),
        ticket_choice=dice.random(),
        method=None if vanishes or pays_by_hand else card,
        presses_after_s=presses_after_s,
        pays_by_hand=pays_by_hand,
        repeats=dice.random() < mix.repeat,
        cancels=dice.random() < mix.cancel,
        looks_elsewhere=dice.random() < mix.foreign,
        sends_other_body=dice.random() < mix.other_body,
        tries_staff=dice.random() < mix.staff,
        has_second_card=declined and dice.random() < mix.second_card,
    )
