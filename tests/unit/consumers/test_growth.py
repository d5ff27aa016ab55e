"""A sale that changes its size while it runs, and one that sells to its last seat."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shared.domain.order import Order, Reason, Status
from shared.domain.order_id import home_of, older_homes
from shared.domain.pool_change import PoolChange, to_capacity, to_withheld
from shared.domain.sale import Pool
from shared.stores.limits import MAX_ACTIONS, MAX_BATCH
from tests.builders import make_sale
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def change_pool(world: World, change: PoolChange | None) -> None:
    """Let staff change the pool, counters and definition."""
    assert change is not None
    assert world.store.change_pool("gig", "floor", change, op=f"staff-{world.pool().version}")
    world.change_sale(world.sale.with_capacity("floor", world.pool().capacity))


def moved_order(world: World, number: int, *, known: int = 0) -> Order:
    """Make a keyed order as a door writes it that knows the first `known` maps (0: all)."""
    counts = world.sale.shard_counts[: known or None]
    digest = number.to_bytes(16, "big")
    return replace(
        world.make_order(method=None, price=0),
        key=home_of("gig", digest, counts),
        older_homes=older_homes("gig", digest, counts),
    )


def test_s7_a_raised_capacity_serves_the_first_in_line(make_world: MakeWorld) -> None:
    """S7: people wait for held seats; one seat more goes to the one who waits longest, before anybody new."""
    world = make_world(pools=(Pool("floor", 2),), hold_ttl_s=86_400)
    holding = [world.order(method=None, at_ms=5_000) for _ in range(2)]
    world.allocate(passes=2, step_s=1)
    waiting = [world.order(method=None, at_ms=6_000 + number) for number in range(3)]
    world.allocate(passes=3, step_s=1)
    assert (world.seated(holding), world.seated(waiting)) == (2, 0)

    change_pool(world, to_capacity(world.pool(), 3))
    latecomer = world.order(method=None)
    world.allocate(passes=4, step_s=1)

    assert [world.seated([key]) for key in [*waiting, latecomer]] == [1, 0, 0, 0]
    check_invariants(world)


def test_a_raised_capacity_after_sold_out_opens_a_new_round(make_world: MakeWorld) -> None:
    """The rejected stay rejected; new orders get the new seats."""
    world = make_world(pools=(Pool("floor", 1),))
    keys = [world.order(at_ms=5_000 + number) for number in range(2)]
    world.run(10)
    assert [world.status(key) for key in keys] == [Status.CONFIRMED, Status.REJECTED]

    change_pool(world, to_capacity(world.pool(), 2))
    world.run(6)
    newcomer = world.order(round_no=world.pool().round)
    world.run(6)

    assert [world.status(key) for key in [*keys, newcomer]] == [Status.CONFIRMED, Status.REJECTED, Status.CONFIRMED]
    check_invariants(world)


def test_recalled_and_withheld_seats_are_not_sold(make_world: MakeWorld) -> None:
    """Fewer seats from pool and slices, some set aside: exactly the others are sold; released ones are sold too."""
    world = make_world(pools=(Pool("floor", 2_000, 4),), max_per_order=50)
    change_pool(world, to_capacity(world.pool(), 600))
    change_pool(world, to_withheld(world.pool(), 100))
    keys = [world.order(50) for _ in range(12)]

    world.run(20)
    assert world.statuses(keys)[Status.CONFIRMED] == 10

    change_pool(world, to_withheld(world.pool(), 0))
    world.run(8)
    more = [world.order(50, round_no=world.pool().round) for _ in range(2)]
    world.run(10)

    assert world.statuses(more) == {Status.CONFIRMED: 2}
    assert world.pool().left == 0
    check_invariants(world)


def test_q14_a_grown_map_drains_its_old_and_its_new_shards(make_world: MakeWorld) -> None:
    """Q14: 4 → 16 shards in the middle: every order is served from its own shard, once."""
    world = make_world(pools=(Pool("floor", 200),))
    before = [world.order() for _ in range(40)]
    world.allocate(passes=1)
    world.change_sale(world.sale.resharded(16))
    after = [moved_order(world, number) for number in range(100, 160)]
    for order in after:
        assert world.store.accept(order).created

    world.run(10)

    assert world.statuses([*before, *(order.key for order in after)]) == {Status.CONFIRMED: 100}
    assert {order.key.shard for order in after} == set(range(16))
    check_invariants(world)


@pytest.mark.parametrize("stock", [0, 10])
def test_q14_of_two_copies_of_a_key_the_older_counts(make_world: MakeWorld, stock: int) -> None:
    """Q14: a stale writer woke up while the newer copy waited: one is served or refused, the other leads to it."""
    world = make_world(pools=(Pool("floor", 10),), shard_counts=(4, 16))
    if not stock:
        world.order(10, price=0, method=None)
        world.run(6)
    newer, older = moved_order(world, 6), moved_order(world, 6, known=1)
    for order in (newer, older):
        assert world.store.accept(order).created

    world.run(10)

    assert world.status(older.key) is (Status.CONFIRMED if stock else Status.REJECTED)
    assert (world.status(newer.key), world.get(newer.key).superseded_by) == (Status.SUPERSEDED, older.key.order_id)
    assert world.seen["superseded"] == 1
    check_invariants(world)


def test_a_batch_of_moved_orders_is_cut_to_what_a_transaction_takes(make_world: MakeWorld) -> None:
    """Each of them takes up to four actions; all are held in one pass, in line order."""
    world = make_world(pools=(Pool("floor", 100),), shard_counts=(4, 16, 64), max_per_buyer=4)
    orders = [moved_order(world, number) for number in range(2_000)]
    orders = [order for order in orders if len(order.older_homes) == 2][:MAX_BATCH]
    assert len(orders) * 4 > MAX_ACTIONS
    for order in orders:
        assert world.store.accept(order).created

    done = world.office.allocate_once(world.sale, 0)

    assert len(done.held) == MAX_BATCH
    assert [_place(world, key) for key in done.held] == sorted(_place(world, key) for key in done.held)
    check_invariants(world)


def _place(world: World, key: object) -> tuple[int, str]:
    return next((order.accepted_at_ms, order.key.order_id) for order in world.orders() if order.key == key)


@pytest.mark.parametrize("slices", [1, 2])
def test_a_crowd_of_parties_leaves_no_seat_unsold(slices: int) -> None:
    """Parties of one to six that want 1,200 of 1,000 seats, twenty singles among the last hundred: 1,000 sold."""
    world = World(make_sale(pools=(Pool("floor", 1_000, slices),), shard_counts=(8,)))
    dice = random.Random(slices)
    last = [1] * 20 + [dice.randrange(2, 7) for _ in range(80)]
    dice.shuffle(last)
    sizes: list[int] = []
    while sum(sizes) + sum(last) < 1_200:
        sizes.append(dice.randrange(1, 7))
    keys = {world.order(size, at_ms=5_000 + number): size for number, size in enumerate([*sizes, *last])}

    world.run(40)

    sold = sum(size for key, size in keys.items() if world.status(key) is Status.CONFIRMED)
    assert (sold, world.pool().left) == (1_000, 0)
    assert {world.get(key).reason for key in keys} == {None, Reason.SOLD_OUT}
    check_invariants(world)
    world.close()
