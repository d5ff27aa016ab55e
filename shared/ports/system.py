"""Time and randomness, injected."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, injected."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds that never go back; no meaning outside this process."""
        ...


class Ids(Protocol):
    """Randomness, injected."""

    def random_bytes(self, count: int) -> bytes:
        """Return unguessable bytes."""
        ...

    def op_id(self) -> str:
        """Return a name for one write operation: unique, at most 16 characters."""
        ...

    def fraction(self) -> float:
        """Return a uniform number in [0, 1) for jitter."""
        ...
