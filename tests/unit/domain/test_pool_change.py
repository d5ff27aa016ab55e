"""More seats, fewer seats, seats set aside: what staff's figures do to a pool's counters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Conflicting
from shared.domain.inventory import PoolState, SliceState
from shared.domain.pool_change import PoolChange, to_capacity, to_withheld


def pool_of(*, unassigned: int = 0, withheld: int = 0, slices: list[tuple[int, int]] | None = None) -> PoolState:
    """Make a pool; `slices` are (unsold, taken)."""
    parts = tuple(SliceState(n, unsold, taken, 1) for n, (unsold, taken) in enumerate(slices or [(0, 0)]))
    capacity = unassigned + withheld + sum(part.unsold + part.taken for part in parts)
    return PoolState("floor", capacity, unassigned, withheld, 0, sold_out=False, version=1, slices=parts)


def after(pool: PoolState, change: PoolChange) -> PoolState:
    """Carry a change out."""
    slices = tuple(
        SliceState(part.slice_no, part.unsold + change.unsold.get(part.slice_no, 0), part.taken, 2)
        for part in pool.slices
    )
    return PoolState(
        pool.pool_id,
        pool.capacity + change.capacity,
        pool.unassigned + change.unassigned,
        pool.withheld + change.withheld,
        0,
        sold_out=False,
        version=2,
        slices=slices,
    )


POOLS = st.builds(
    pool_of,
    unassigned=st.integers(0, 50),
    withheld=st.integers(0, 20),
    slices=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4),
)


@given(POOLS, st.integers(0, 300))
def test_a_capacity_is_reached_or_the_lowest_possible_named(pool: PoolState, capacity: int) -> None:
    """S7: nobody loses a seat, the sum stays the capacity, and the number named is one that works."""
    lowest = pool.taken + pool.withheld
    if capacity < lowest:
        with pytest.raises(Conflicting) as refusal:
            to_capacity(pool, capacity)
        assert refusal.value.details == {"lowest": lowest}
    reached = max(capacity, lowest)
    change = to_capacity(pool, reached)
    now = pool if change is None else after(pool, change)
    assert now.balanced
    assert (now.capacity, now.taken, now.withheld) == (reached, pool.taken, pool.withheld)


@given(POOLS, st.integers(0, 300))
def test_withheld_seats_are_reached_or_the_highest_possible_named(pool: PoolState, withheld: int) -> None:
    """Only seats that nobody has can be set aside; released ones are nobody's yet."""
    most = pool.withheld + pool.left
    if withheld > most:
        with pytest.raises(Conflicting) as refusal:
            to_withheld(pool, withheld)
        assert refusal.value.details == {"most": most}
    reached = min(withheld, most)
    change = to_withheld(pool, reached)
    now = pool if change is None else after(pool, change)
    assert now.balanced
    assert (now.capacity, now.taken, now.withheld) == (pool.capacity, pool.taken, reached)


def test_seats_are_recalled_from_the_pool_before_its_slices() -> None:
    """A slice that sells keeps what it has as long as others can give."""
    pool = pool_of(unassigned=3, slices=[(2, 0), (6, 1)])

    assert to_capacity(pool, 9) == PoolChange(12, 0, capacity=-3, unassigned=-3)
    assert to_capacity(pool, 7) == PoolChange(12, 0, capacity=-5, unassigned=-3, unsold={1: -2})


def test_a_change_that_creates_seats_out_of_nothing_is_no_change() -> None:
    """The parts sum to the difference of the capacity."""
    with pytest.raises(ValueError, match="capacity"):
        PoolChange(10, 0, capacity=1, unassigned=2)
