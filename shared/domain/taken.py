"""An order in the hands of a program outside: until when it is hidden from others, and by which receipt it answers.

The receipt is the name of the write that took the order. Whoever takes it next writes another one over it, and from
then on nothing that the first says about it counts. Time alone takes nothing away: a receipt is good until somebody
else has taken the order.
"""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum

from msgspec import Struct

from shared.domain.errors import NotFound

MIN_VISIBILITY_S = 10
MAX_VISIBILITY_S = 12 * 3600
MAX_TAKEN_AT_ONCE = 100
_MAX_RECEIPT_CHARS = 400
_NO_RECEIPT = "This is no receipt of ours; send it exactly as it came with the order."


class Stage(StrEnum):
    """What programs outside may take: confirmed orders to be fulfilled, and parked ones."""

    FULFILMENT = "fulfilment"
    PARKED = "parked"


class Taken(Struct, frozen=True):
    """Taken by the write `op`, hidden until `until_ms`; `done` once that same receipt completed it."""

    op: str
    until_ms: int
    done: bool = False


class Receipt(Struct, frozen=True):
    """What a taker shows: which order, and by which write it was taken."""

    event_id: str
    order_id: str
    op: str

    def __str__(self) -> str:
        """Write it as the opaque text that goes over HTTP."""
        plain = f"{self.event_id}#{self.order_id}#{self.op}"
        return base64.urlsafe_b64encode(plain.encode("utf-8")).decode("ascii").rstrip("=")


def read_receipt(text: str) -> Receipt:
    """Read a receipt back; NotFound when it is none."""
    if not 0 < len(text) <= _MAX_RECEIPT_CHARS:
        raise NotFound(_NO_RECEIPT)
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("utf-8")
        event_id, order_id, op = plain.split("#")
    except (binascii.Error, UnicodeError, ValueError):
        raise NotFound(_NO_RECEIPT) from None
    return Receipt(event_id, order_id, op)
