"""Sold out, reopening, and the end of a sale."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.order import Reason, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool, SaleStatus, WhenShort
from shared.ports.control import Word
from tests.fakes.payment import DECLINED_CARD
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def _refund_by_staff(world: World, key: OrderKey) -> None:
    """Give a confirmed order's seats back, as the staff's route does."""
    order = world.get(key)
    back = replace(
        transitions.owe_refund(
            order, order.payment, op="refund", now_ms=world.clock.now_ms(), due_minor=order.amount.minor
        ),
        status=Status.REFUNDED,
        reason=Reason.REFUNDED_BY_STAFF,
        tickets=(),
    )
    assert world.store.release(back, seen_rev=order.rev, withhold=False, max_per_buyer=None).done


def test_orders_wait_while_seats_are_held(make_world: MakeWorld) -> None:
    """While a held seat may come back nobody is rejected, and the first in line gets it when it does."""
    world = make_world(pools=(Pool("floor", 2),), hold_ttl_s=30)
    for _ in range(2):
        world.order(method=DECLINED_CARD)
    first, second, third = world.order(), world.order(), world.order()

    world.run(20)
    assert world.statuses([first, second, third]) == {Status.QUEUED: 3}
    world.run(15)

    assert world.statuses([first, second]) == {Status.CONFIRMED: 2}
    check_invariants(world)


def test_sold_out_is_decided_when_all_is_sold(make_world: MakeWorld) -> None:
    """When every seat is sold the waiting are rejected one by one, citing the sale's end of stock."""
    world = make_world(pools=(Pool("floor", 2),))
    sold = [world.order() for _ in range(2)]
    waiting = [world.order() for _ in range(100)]

    world.run(5)

    assert world.statuses(sold) == {Status.CONFIRMED: 2}
    assert {world.get(key).reason for key in waiting} == {Reason.SOLD_OUT}
    assert world.pool().round == 1
    assert world.pool().sold_out
    notice = world.store.get_sale("gig").notice
    assert notice is not None
    assert notice.pools["floor"].word is Word.GONE
    check_invariants(world)


def test_sold_out_waits_until_the_pool_was_dry_for_a_while(make_world: MakeWorld) -> None:
    """The decision needs a pool that stood dry and unchanged for two seconds by the worker's own clock."""
    world = make_world(pools=(Pool("floor", 1),))
    world.order()
    waiting = world.order()
    world.allocate()
    world.sweep()

    world.allocate(passes=10, step_s=0.1)
    assert world.status(waiting) is Status.QUEUED
    world.run(4)

    assert world.status(waiting) is Status.REJECTED


def test_a_parked_hold_keeps_the_pool_open(make_world: MakeWorld) -> None:
    """A held order that was set aside for a person still holds its seat: sold out is not decided."""
    world = make_world(pools=(Pool("floor", 1),))
    held = world.order(method=None)
    waiting = world.order()
    world.allocate()
    order = world.get(held)
    parked = transitions.park(order, op="park", now_ms=world.clock.now_ms(), error="A test.")
    world.store.save(parked, seen_rev=order.rev)

    world.run(200)

    assert world.status(waiting) is Status.QUEUED
    assert not world.pool().sold_out


def test_orders_that_wait_to_be_fetched_do_not_hide_the_end(make_world: MakeWorld) -> None:
    """Sold out is found behind hundreds of sold orders whose fulfilment is still open, each read once."""
    world = make_world(pools=(Pool("floor", 600),), fulfilment=True)
    for _ in range(600):
        world.order(price=0)
    waiting = world.order()
    cutter = Cutter()
    world.office = world.new_office(store=cutter.store(world.store))
    world.run(12)
    assert world.pool().taken == 600

    world.run(3)

    assert world.get(waiting).reason is Reason.SOLD_OUT
    assert cutter.log.count("get_order") < 600 * 3 + 50


def test_s11_seats_that_come_back_open_a_new_round(make_world: MakeWorld) -> None:
    """S11: after sold out a refund gives a seat back: a new order gets it, no rejected order wakes."""
    world = make_world(pools=(Pool("floor", 1),))
    sold, rejected = world.order(), world.order()
    world.run(5)
    assert world.status(rejected) is Status.REJECTED
    stale = world.order(round_no=0)

    _refund_by_staff(world, sold)
    fresh = world.order(round_no=1)
    world.run(5)

    assert [world.status(key) for key in (sold, rejected, stale, fresh)] == [
        Status.REFUNDED,
        Status.REJECTED,
        Status.REJECTED,
        Status.CONFIRMED,
    ]
    check_invariants(world)


def test_a_sale_that_does_not_let_wait_rejects_at_once(make_world: MakeWorld) -> None:
    """With `reject` an order that finds no seat is told so while others still hold theirs."""
    world = make_world(pools=(Pool("floor", 3),), when_short=WhenShort.REJECT)
    world.order(2, method=None)
    party, single = world.order(2), world.order(1)

    world.allocate(passes=2)

    assert world.get(party).reason is Reason.SOLD_OUT
    assert world.seated([single]) == 1


def test_an_ended_sale_serves_who_fits_and_then_tells_the_rest(make_world: MakeWorld) -> None:
    """After the end seats still go to those who wait; a party that can never fit is told so."""
    world = make_world(pools=(Pool("floor", 4),), hold_ttl_s=30)
    held = world.order(3, method=DECLINED_CARD)
    party = world.order(5)
    pair = world.order(2)
    world.run(2)
    world.change_sale(world.sale.changed(SaleStatus.CLOSED))

    world.run(20)
    assert world.statuses([party, pair]) == {Status.QUEUED: 2}
    world.run(20)

    assert world.status(held) is Status.EXPIRED
    assert world.status(pair) is Status.CONFIRMED
    assert world.get(party).reason is Reason.NOT_ENOUGH_SEATS
    check_invariants(world)


def test_a_cancelled_sale_rejects_its_line_and_ends_its_holds(make_world: MakeWorld) -> None:
    """When the event is cancelled nobody waits on, and nobody is charged any more."""
    world = make_world(pools=(Pool("floor", 1),))
    held = world.order()
    waiting = [world.order() for _ in range(3)]
    world.allocate()
    world.change_sale(world.sale.changed(SaleStatus.CANCELLED))

    world.run(2)

    assert {world.get(key).reason for key in [held, *waiting]} == {Reason.SALE_CANCELLED}
    assert world.payments.captures == {}
    check_invariants(world)


@pytest.mark.parametrize("served", [True, False])
def test_s9_an_overdue_hold_is_free_to_the_next(make_world: MakeWorld, served: bool) -> None:
    """S9: an allocator that runs dry asks about overdue holds first; while the service is silent the seat stays."""
    world = make_world(pools=(Pool("floor", 1),), hold_ttl_s=5)
    world.order(method=None)
    waiting = world.order(method=None)
    world.allocate()
    world.sweep()
    world.clock.advance(60)
    world.payments.dead = not served

    world.allocate(passes=3, step_s=0.6)

    assert world.seated([waiting]) == served
    check_invariants(world)


def test_s9_a_hold_without_a_try_is_released_without_a_question(make_world: MakeWorld) -> None:
    """S9: a free order's overdue hold goes at once, though the payment service is dead."""
    world = make_world(pools=(Pool("floor", 1),), hold_ttl_s=5)
    free = world.order(price=0)
    waiting = world.order()
    world.payments.dead = True
    world.allocate()
    world.clock.advance(60)

    world.allocate(passes=3, step_s=0.6)

    assert world.status(free) is Status.EXPIRED
    assert world.status(waiting) is Status.HELD
