"""Changes of a pool by staff in a running sale: more seats, fewer seats, seats set aside and released again.

Pure: from a pool as read to the differences of its counters. The store carries them out only while the pool's own
figures are still those that were read and no counter would fall below 0; else it is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shared.domain.errors import Conflicting

if TYPE_CHECKING:
    from shared.domain.inventory import PoolState


class PoolChange(Struct, frozen=True):
    """Differences of a pool's counters; `unsold` maps slices to theirs.

    The parts sum to the difference of `capacity`, so that the pool's sum stays its capacity.
    """

    seen_capacity: int
    seen_withheld: int
    capacity: int = 0
    unassigned: int = 0
    withheld: int = 0
    unsold: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a change that would create or lose seats."""
        if self.unassigned + self.withheld + sum(self.unsold.values()) != self.capacity:
            raise ValueError("a pool's sum is its capacity")


def to_capacity(pool: PoolState, capacity: int) -> PoolChange | None:
    """Give the pool `capacity` seats in all; None when it has them.

    New seats are nobody's yet, so the line draws them in its own order. Lowering recalls seats nobody has, of the pool
    and then of its slices; Conflicting names the lowest number possible.
    """
    more = capacity - pool.capacity
    if more >= 0:
        return PoolChange(pool.capacity, pool.withheld, capacity=more, unassigned=more) if more else None
    lowest = pool.taken + pool.withheld
    if capacity < lowest:
        raise Conflicting(
            f"{pool.taken} seats are held or sold, {pool.withheld} withheld; the lowest number possible is {lowest}.",
            code="below-taken",
            lowest=lowest,
        )
    unassigned, unsold = _recall(pool, -more)
    return PoolChange(pool.capacity, pool.withheld, capacity=more, unassigned=unassigned, unsold=unsold)


def to_withheld(pool: PoolState, withheld: int) -> PoolChange | None:
    """Keep `withheld` seats of the pool from being sold; None when it keeps as many.

    Fewer than before: the others may be sold again. Conflicting names the highest number possible.
    """
    more = withheld - pool.withheld
    if more <= 0:
        return PoolChange(pool.capacity, pool.withheld, withheld=more, unassigned=-more) if more else None
    most = pool.withheld + pool.left
    if withheld > most:
        raise Conflicting(
            f"{pool.left} seats are neither held nor sold nor withheld; the highest number possible is {most}.",
            code="above-unsold",
            most=most,
        )
    unassigned, unsold = _recall(pool, more)
    return PoolChange(pool.capacity, pool.withheld, withheld=more, unassigned=unassigned, unsold=unsold)


def _recall(pool: PoolState, seats: int) -> tuple[int, dict[int, int]]:
    """Take seats that nobody has: of the pool first, then of the fullest slices."""
    unassigned = min(seats, pool.unassigned)
    left = seats - unassigned
    unsold: dict[int, int] = {}
    for part in sorted(pool.slices, key=lambda part: -part.unsold):
        taken = min(left, part.unsold)
        if taken:
            unsold[part.slice_no] = -taken
            left -= taken
    return -unassigned, unsold
