"""Seats as counters: a pool, cut into slices, each changed by conditional writes only."""

from __future__ import annotations

from msgspec import Struct


class SliceState(Struct, frozen=True):
    """One slice: `unsold` seats may be allocated, `taken` are held or confirmed. `version` counts its writes."""

    slice_no: int
    unsold: int
    taken: int
    version: int


class PoolState(Struct, frozen=True):
    """One pool with its slices, as read.

    `unassigned + Σ unsold + Σ taken + withheld = capacity` after every write. `round` is the number of sold-out
    decisions; `sold_out` says whether the last one still stands.
    """

    pool_id: str
    capacity: int
    unassigned: int
    withheld: int
    round: int
    sold_out: bool
    version: int
    slices: tuple[SliceState, ...]

    @property
    def unsold(self) -> int:
        """Seats in the slices that may be allocated."""
        return sum(part.unsold for part in self.slices)

    @property
    def taken(self) -> int:
        """Seats held or confirmed."""
        return sum(part.taken for part in self.slices)

    @property
    def left(self) -> int:
        """Seats not taken and not withheld."""
        return self.unassigned + self.unsold

    @property
    def balanced(self) -> bool:
        """Say whether the pool's sum is its capacity and no part is negative."""
        parts = [self.unassigned, self.withheld, *(p.unsold for p in self.slices), *(p.taken for p in self.slices)]
        return min(parts) >= 0 and sum(parts) == self.capacity


def opening_counts(capacity: int, slices: int) -> tuple[int, tuple[int, ...]]:
    """Split a new pool into (unassigned, unsold per slice).

    One slice holds everything. Several share one half, and the other half stays unassigned, so that no slice runs
    dry while another one sleeps on seats.
    """
    if slices == 1:
        return 0, (capacity,)
    assigned = capacity - capacity // 2
    each, rest = divmod(assigned, slices)
    return capacity - assigned, tuple(each + (1 if n < rest else 0) for n in range(slices))
