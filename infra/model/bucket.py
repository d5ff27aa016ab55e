"""A token bucket in exact integers, so that a million small refills lose nothing."""

from __future__ import annotations

PICO_PER_UNIT = 10**12
_PICO_PER_US = 10**6  # one unit per second, per microsecond


def to_pico(units: float) -> int:
    """Capacity units as whole pico-units (half a read unit is exact)."""
    return round(units * PICO_PER_UNIT)


class TokenBucket:
    """Holds up to `depth_units`, refilled with `units_per_s`; a time before the last is the last.

    A cost above the depth passes when the bucket is full and leaves a debt, since DynamoDB serves an
    item of 400 KiB (400 write units) on any partition: over a long time the rate still holds.
    """

    __slots__ = ("_at_us", "_depth", "_level", "_rate")

    def __init__(
        self,
        units_per_s: float,
        depth_units: float,
        at_us: int = 0,
        level_units: float | None = None,
    ) -> None:
        self._rate = round(units_per_s * _PICO_PER_US)
        self._depth = to_pico(depth_units)
        self._level = self._depth if level_units is None else to_pico(level_units)
        self._at_us = at_us

    def level(self, now_us: int) -> int:
        """Pico-units on hand at `now_us`; negative while a debt is paid off."""
        if now_us > self._at_us:
            filled = self._level + self._rate * (now_us - self._at_us)
            self._level = min(self._depth, filled)
            self._at_us = now_us
        return self._level

    def has(self, pico: int, now_us: int) -> bool:
        """Whether a cost passes now. Takes nothing."""
        level = self.level(now_us)
        return level >= pico or level >= self._depth > 0

    def take(self, pico: int) -> None:
        """Charge a cost that `has` let pass."""
        self._level -= pico

    def give_back(self, pico: int) -> None:
        """Undo a `take`."""
        self._level = min(self._level + pico, self._depth)

    def fill_time_us(self, pico: int, now_us: int) -> int:
        """Microseconds until a cost would pass, were nobody else to draw."""
        missing = min(pico, self._depth) - self.level(now_us)
        return 0 if missing <= 0 else -(-missing // self._rate)

    def copy_at(self, now_us: int) -> TokenBucket:
        """A bucket of the same rate, depth and level."""
        twin = TokenBucket(0, 0, now_us)
        twin._rate, twin._depth, twin._level = self._rate, self._depth, self.level(now_us)
        return twin
