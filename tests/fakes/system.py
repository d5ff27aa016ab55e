"""Time that moves only when told, and randomness that repeats."""

from __future__ import annotations

import random


class FakeClock:
    """A clock that stands still until `advance`; `skew_ms` sets its wall time apart from the common one."""

    def __init__(self, at_ms: int = 10_000, *, skew_ms: int = 0) -> None:
        """Start at `at_ms`."""
        self.at_ms = at_ms
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        """Return the present wall time with this clock's skew."""
        return self.at_ms + self.skew_ms

    def monotonic_s(self) -> float:
        """Return the common time in seconds; never skewed."""
        return self.at_ms / 1000

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at_ms += round(seconds * 1000)


class SeededIds:
    """Random numbers that depend on the seed alone."""

    def __init__(self, seed: int = 0) -> None:
        """Start the sequence of `seed`."""
        self._random = random.Random(seed)

    def random_bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        return self._random.randbytes(count)

    def op_id(self) -> str:
        """Return the next operation id."""
        return self._random.randbytes(8).hex()

    def fraction(self) -> float:
        """Return the next number in [0, 1)."""
        return self._random.random()
