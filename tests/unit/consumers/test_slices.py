"""Pools cut into slices: seats reach an order that fits wherever it waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.domain.money import Money
from shared.domain.order import Demand, Line, Reason, Status
from shared.domain.sale import Pool, TicketType
from tests.builders import make_sale
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def _spread(world: World, unsold: Sequence[int], unassigned: int) -> None:
    """Arrange a fresh pool so that its slices and the pool have so many seats left, the rest withheld by sales."""
    pool = world.pool()
    for part in pool.slices:
        assert world.store.give_back("gig", "floor", part.slice_no, part.unsold, op=f"back-{part.slice_no}")
    taken = pool.capacity - unassigned - sum(unsold)
    assert world.store.draw("gig", "floor", 0, taken, op="taken")
    filler = [world.order(50, buyer=f"filler-{n}", shard=0, method=None) for n in range(taken // 50)]
    filler += [world.order(taken % 50, shard=0, method=None)] if taken % 50 else []
    while world.pool().taken < taken:
        world.office.allocate_once(world.sale, 0)
    for slice_no, seats in enumerate(unsold):
        if seats:
            assert world.store.draw("gig", "floor", slice_no, seats, op=f"seats-{slice_no}")
    world.office = world.new_office()
    left = world.pool()
    assert ([part.unsold for part in left.slices], left.unassigned) == (list(unsold), unassigned)


def test_s8_a_party_is_served_from_seats_in_three_slices(make_world: MakeWorld) -> None:
    """S8: three seats left in three slices, and a party of three waits: served."""
    world = make_world(pools=(Pool("floor", 1_500, 3),), shard_counts=(6,), max_per_order=50, hold_ttl_s=86_400)
    _spread(world, [1, 1, 1], 0)
    party = world.order(3, shard=1)

    world.allocate(passes=4, step_s=1)

    assert world.seated([party]) == 1
    check_invariants(world)


def test_s10_of_two_parties_with_seats_apart_one_is_served(make_world: MakeWorld) -> None:
    """S10: two slices with two seats each, nothing unassigned, a party of three at each: one of them is served."""
    world = make_world(pools=(Pool("floor", 1_000, 2),), max_per_order=50, hold_ttl_s=86_400)
    _spread(world, [2, 2], 0)
    parties = [world.order(3, shard=shard) for shard in (0, 1)]

    world.allocate(passes=4, step_s=1)

    assert world.seated(parties) == 1
    check_invariants(world)


def test_the_oldest_gets_what_it_lacks_before_smaller_orders(make_world: MakeWorld) -> None:
    """What the oldest lacks is drawn before smaller orders behind it may take the slice's seats."""
    world = make_world(pools=(Pool("floor", 1_000, 2),), max_per_order=50, hold_ttl_s=86_400)
    _spread(world, [2, 0], 1)
    party = world.order(3, shard=0)
    singles = [world.order(1, shard=0) for _ in range(2)]

    world.allocate(passes=2)

    assert world.seated([party]) == 1
    assert world.statuses(singles) == {Status.QUEUED: 2}


def test_an_idle_slice_does_not_sleep_on_seats(make_world: MakeWorld) -> None:
    """A slice nobody orders from gives its seats to those who wait at another one."""
    world = make_world(pools=(Pool("floor", 1_000, 2),), max_per_order=50)
    keys = [world.order(50, shard=0) for _ in range(20)]

    world.run(20)

    assert world.statuses(keys) == {Status.CONFIRMED: 20}
    check_invariants(world)


def test_groups_without_shards_give_their_seats_back(make_world: MakeWorld) -> None:
    """With fewer shards than slices the seats of every slice are sold all the same."""
    world = make_world(pools=(Pool("floor", 2_000, 4),), shard_counts=(2,), max_per_order=50)
    keys = [world.order(50) for _ in range(40)]

    world.run(20)

    assert world.statuses(keys) == {Status.CONFIRMED: 40}


def test_two_pools_that_two_groups_need_do_not_lock_them(make_world: MakeWorld) -> None:
    """Two groups that need the same last seats of two pools do not each take one and wait for the other."""
    world = make_world(
        pools=(Pool("floor", 1_000, 2), Pool("balcony", 1_000, 2)),
        ticket_types=(
            TicketType("standing", "Standing", "floor", 2_500),
            TicketType("seated", "Seated", "balcony", 2_500),
        ),
        max_per_order=50,
    )
    keys = [world.order(50, shard=n % 2, pool=pool) for n in range(20) for pool in ("floor", "balcony")]

    world.run(20)

    assert world.statuses(keys) == {Status.CONFIRMED: 40}
    check_invariants(world)


def test_an_order_over_two_pools_gets_both_or_neither(make_world: MakeWorld) -> None:
    """Seats of two pools are held in one transaction; what one of them lacks leaves the other's seats to others."""
    world = make_world(pools=(Pool("balcony", 1_000, 2), Pool("floor", 1_000, 2)), max_per_order=50)
    both = (Demand("floor", 25, 0), Demand("balcony", 50, 0))
    keys = []
    for n in range(30):
        order = replace(world.make_order(25, shard=n % 2), demand=both, lines=(Line("standing", 75, 100),))
        order = replace(order, amount=Money(7_500, "EUR"))
        assert world.store.accept(order).created
        keys.append(order.key)

    world.run(20)

    assert world.statuses(keys)[Status.CONFIRMED] == 20
    assert (world.pool("balcony").left, world.pool("floor").left) == (0, 500)
    assert {world.get(key).reason for key in keys} == {None, Reason.SOLD_OUT}
    check_invariants(world)


@pytest.mark.parametrize("seed", range(3))
def test_slices_race_for_the_pool_without_losing_a_seat(make_world: MakeWorld, seed: int) -> None:
    """Parties of one to six on four slices, more wanted than there is: nothing is left that a waiting order fits."""
    world = make_world(pools=(Pool("floor", 2_000, 4),), shard_counts=(8,), hold_ttl_s=86_400)
    sizes = [(n * 7 + seed) % 6 + 1 for n in range(700)]
    keys = {world.order(size, method=None): size for size in sizes}

    world.allocate(passes=60, step_s=0.2)

    waiting = [size for key, size in keys.items() if world.status(key) is Status.QUEUED]
    assert world.pool().left < min(waiting, default=1)
    check_invariants(world)


@given(
    unsold=st.lists(st.integers(0, 4), min_size=2, max_size=2),
    unassigned=st.integers(0, 4),
    parties=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=8),
)
def test_whatever_is_left_fits_nobody_who_waits(
    unsold: list[int], unassigned: int, parties: list[tuple[int, int]]
) -> None:
    """However seats lie apart, no order waits that fits all that is left together."""
    world = World(make_sale(pools=(Pool("floor", 1_000, 2),), max_per_order=50, hold_ttl_s=86_400))
    _spread(world, unsold, unassigned)
    keys = {world.order(size, shard=shard, method=None): size for size, shard in parties}

    world.allocate(passes=12, step_s=1)

    waiting = [size for key, size in keys.items() if world.status(key) is Status.QUEUED]
    assert world.pool().left < min(waiting, default=world.pool().left + 1)
    check_invariants(world)
    world.close()
