"""What went wrong with an order, and what was done about it: a short memory that travels with the order."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

# The newest entries are kept: one more than an order may fail before it is parked, so that the whole last row of
# failures stands there. With texts of this length they stay below 2 KiB.
MAX_HISTORY = 9
MAX_NOTE_CHARS = 160


class TroubleKind(StrEnum):
    """What an entry tells."""

    FAILED = "failed"
    PARKED = "parked"
    REDRIVEN = "redriven"


class Trouble(Struct, frozen=True):
    """One entry: when, what, which duty it was about, and the error or who redrove."""

    at_ms: int
    kind: TroubleKind
    duty: str
    note: str


def remember(history: Sequence[Trouble], entry: Trouble) -> tuple[Trouble, ...]:
    """Add an entry, its text cut to length, and forget the oldest beyond the limit."""
    short = Trouble(entry.at_ms, entry.kind, entry.duty, entry.note[:MAX_NOTE_CHARS])
    return (*history, short)[-MAX_HISTORY:]


def failing_since_ms(history: Sequence[Trouble], failures: int) -> int | None:
    """Return when the present row of `failures` failures began, as far as it is remembered; None without any."""
    failed = [entry.at_ms for entry in history if entry.kind is TroubleKind.FAILED]
    return failed[-failures:][0] if failed and failures > 0 else None
