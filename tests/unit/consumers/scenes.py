"""Moments that several tests of the back office begin with."""

from __future__ import annotations

from consumers.settlement.outcome import Outcome
from shared.domain import transitions
from shared.domain.order import Status
from shared.domain.order_id import OrderKey
from tests.unit.consumers.world import World


def held_order(world: World, **order: object) -> OrderKey:
    """Let somebody order and get seats; the arguments are those of `World.order`."""
    world.clock.advance(0.5)
    key = world.order(**order)  # type: ignore[arg-type] # as `World.order`
    world.allocate()
    assert world.status(key) is Status.HELD
    return key


def look_now(world: World, key: OrderKey) -> None:
    """Do what the webhook route does, a moment after whatever was before."""
    world.clock.advance(0.001)
    order = world.get(key)
    looked = transitions.look_now(order, op=f"hook-{order.rev}", now_ms=world.clock.now_ms())
    world.store.save(looked, seen_rev=order.rev)


def settle(world: World, key: OrderKey) -> Outcome:
    """Do what is due for one order."""
    return world.office.settle_once(world.sale, key)
