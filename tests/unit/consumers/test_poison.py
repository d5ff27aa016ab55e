"""Q10: stored items that contradict themselves are passed over, counted, and stop nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shared.domain.errors import Broken
from shared.domain.order import Reason, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


class Spoiling(Cutter):
    """Makes one order unreadable, alone and in a batch."""

    def __init__(self, key: OrderKey) -> None:
        super().__init__()
        self.key = key

    def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        if name == "get_order" and args[0] == self.key:
            raise Broken
        if name == "hold_batch":
            batch: HoldBatch = args[0]
            if any(hint.key == self.key for hint in batch.orders):
                raise Broken
        return super().call(name, function, args, options)


@pytest.fixture
def spoiled(make_world: MakeWorld) -> tuple[World, OrderKey]:
    """Return a world whose third order cannot be read."""
    world = make_world(pools=(Pool("floor", 60),))
    for _ in range(2):
        world.order()
    key = world.order(shard=3)
    world.office = world.new_office(store=Spoiling(key).store(world.store))
    return world, key


def test_a_batch_is_held_without_its_poison(spoiled: tuple[World, OrderKey]) -> None:
    """The order that spoils a batch is found by halving; all the others are held in the same pass."""
    world, key = spoiled
    others = [world.order() for _ in range(40)]

    world.allocate()

    assert world.seated(others) == 40
    assert world.status(key) is Status.QUEUED
    assert world.seen["order_unreadable"] == 1
    check_invariants(world)


def test_poison_is_not_tried_over_and_over(spoiled: tuple[World, OrderKey]) -> None:
    """What cannot be read is left alone for minutes, not met in every pass."""
    world, _ = spoiled

    world.run(60)

    assert world.seen["order_unreadable"] == 1


def test_a_held_order_that_cannot_be_read_stops_no_neighbour(make_world: MakeWorld) -> None:
    """An unreadable order that is due is counted and passed over; its neighbours in the shard are paid."""
    world = make_world()
    poison = world.order(shard=1)
    others = [world.order(shard=1) for _ in range(5)]
    world.allocate()
    world.office = world.new_office(store=Spoiling(poison).store(world.store))

    world.run(30)

    assert world.statuses(others) == {Status.CONFIRMED: 5}
    assert world.status(poison) is Status.HELD
    assert world.seen["unreadable"] == 1
    check_invariants(world)


def test_a_line_with_poison_is_rejected_all_the_same(make_world: MakeWorld) -> None:
    """When a pool is sold out the readable orders are told so."""
    world = make_world(pools=(Pool("floor", 1),))
    world.order()
    waiting = [world.order() for _ in range(3)]
    world.office = world.new_office(store=Spoiling(waiting[1]).store(world.store))

    world.run(5)

    assert [world.get(key).reason for key in waiting] == [Reason.SOLD_OUT, None, Reason.SOLD_OUT]
