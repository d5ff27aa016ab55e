"""How evenly an event's orders fall on its shards."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

# Below five expected orders a shard the test says nothing. Cochran, "Some methods for strengthening the common χ²
# tests", Biometrics 10 (1954).
MIN_EXPECTED = 5
# Uneven is what chance explains in fewer than one of a thousand looks, and what is large enough to matter.
MAX_P = 0.001
MIN_MAX_OVER_MEAN = 1.25


class Skew(Struct, frozen=True):
    """`max_over_mean` of the shards' orders; `p_value` of the χ² test against uniform, None with too few orders."""

    shards: int
    orders: int
    max_over_mean: float
    chi_square: float
    p_value: float | None

    @property
    def uneven(self) -> bool:
        """Say whether the shards are used unevenly beyond chance, and by enough to matter."""
        return self.p_value is not None and self.p_value < MAX_P and self.max_over_mean >= MIN_MAX_OVER_MEAN


def skew_of(orders: Sequence[int]) -> Skew | None:
    """Compare the orders of each shard with an even spread; None for less than two shards or without orders.

    Orders are drawn to shards independently of one another, their later changes are not: give arrivals, not writes.
    """
    total = sum(orders)
    if len(orders) < 2 or total == 0:  # noqa: PLR2004 - one shard cannot be uneven
        return None
    expected = total / len(orders)
    chi_square = sum((count - expected) ** 2 for count in orders) / expected
    p_value = chi_square_tail(chi_square, len(orders) - 1) if expected >= MIN_EXPECTED else None
    return Skew(len(orders), total, max(orders) / expected, chi_square, p_value)


def chi_square_tail(value: float, degrees: int) -> float:
    """Return the probability that χ² with `degrees` of freedom exceeds `value`, to about two digits.

    The cube root of χ²/degrees is nearly normal: Wilson, Hilferty, "The distribution of chi-square", PNAS 17 (1931).
    """
    spread = 2 / (9 * degrees)
    deviation = ((value / degrees) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return math.erfc(deviation / math.sqrt(2)) / 2
