"""Ticket codes: one for each seat, which nobody can guess."""

from __future__ import annotations

from base64 import b32encode

from shared.ports.system import Ids

CODE_BYTES = 16


def ticket_codes(ids: Ids, seats: int) -> tuple[str, ...]:
    """Return `seats` codes of 128 random bits each, 26 letters and digits in base 32."""
    return tuple(b32encode(ids.random_bytes(CODE_BYTES)).decode("ascii").rstrip("=") for _ in range(seats))
