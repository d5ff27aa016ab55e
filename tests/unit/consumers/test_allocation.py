"""Who gets seats: exactness, order, parties, limits, late and unreadable orders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shared.domain import transitions
from shared.domain.order import Reason, Status
from shared.domain.sale import Pool
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


@pytest.mark.parametrize(
    ("seats", "quantities", "served"),
    [(1, [1, 1], 1), (2, [2, 2, 2], 1), (10, [1] * 12, 10)],
    ids=["one-seat", "parties-of-two", "twelve-for-ten"],
)
def test_s1_seats_go_to_exactly_as_many_as_there_are(
    make_world: MakeWorld, seats: int, quantities: list[int], served: int
) -> None:
    """S1: however many order at the same instant, each seat is held once."""
    world = make_world(pools=(Pool("floor", seats),))
    keys = [world.order(quantity) for quantity in quantities]

    world.allocate()

    assert world.seated(keys) == served
    assert world.pool().left == 0
    check_invariants(world)


def test_s2_a_seat_given_back_is_sold_again(make_world: MakeWorld) -> None:
    """S2: buy 1 of 1, cancel, buy again: the second succeeds."""
    world = make_world(pools=(Pool("floor", 1),))
    first = world.order(method=None)
    world.allocate()
    held = world.get(first)
    world.store.save(transitions.ask_to_cancel(held, op="wish", now_ms=world.clock.now_ms()), seen_rev=held.rev)
    second = world.order()

    world.run(3)

    assert (world.status(first), world.status(second)) == (Status.CANCELLED, Status.CONFIRMED)
    check_invariants(world)


def test_the_oldest_come_first_over_all_shards(make_world: MakeWorld) -> None:
    """I6: seats go by the time of acceptance, whatever shard an order lives on."""
    world = make_world(pools=(Pool("floor", 60),), shard_counts=(7,))
    times = [5_000 + (number * 37) % 200 for number in range(200)]
    keys = {world.order(at_ms=at_ms): at_ms for at_ms in times}

    world.allocate(passes=3)

    held = sorted(at_ms for key, at_ms in keys.items() if world.seated([key]))
    assert held == sorted(times)[:60]


def test_a_party_is_served_whole_or_lets_smaller_ones_pass(make_world: MakeWorld) -> None:
    """A party that does not fit waits, and smaller orders behind it get what is left."""
    world = make_world(pools=(Pool("floor", 3),))
    party, single, pair = world.order(4), world.order(1), world.order(2)

    world.allocate(passes=2)

    assert world.status(party) is Status.QUEUED
    assert world.seated([single, pair]) == 2


def test_a_batch_never_exceeds_what_one_transaction_takes(make_world: MakeWorld) -> None:
    """Hundreds of orders are held in as many passes as it takes, with a counter for each buyer."""
    world = make_world(pools=(Pool("floor", 300), Pool("balcony", 5), Pool("box", 5)), max_per_buyer=2)
    keys = [world.order(pool="floor") for _ in range(300)]

    world.allocate(passes=8)

    assert world.seated(keys) == 300
    check_invariants(world)


def test_k8_a_limit_holds_over_shards(make_world: MakeWorld) -> None:
    """K8: three orders of one buyer, limit 1: exactly one succeeds, the others say why."""
    world = make_world(max_per_buyer=1)
    keys = [world.order(buyer="ann", shard=shard) for shard in range(3)]

    world.allocate(passes=4)

    assert world.seated(keys) == 1
    assert {world.get(key).reason for key in keys} == {None, Reason.OVER_BUYER_LIMIT}
    check_invariants(world)


def test_q17_a_bot_keeps_no_neighbour_waiting(make_world: MakeWorld) -> None:
    """Q17: one buyer's hundreds of orders stand in front; the neighbours are served long before they are through."""
    world = make_world(pools=(Pool("floor", 100),), max_per_buyer=1)
    bots = [world.order(buyer="bot", at_ms=5_000) for _ in range(500)]
    others = [world.order(at_ms=6_000) for _ in range(40)]

    world.allocate(passes=4)

    assert world.seated(others) == 40
    world.allocate(passes=40)
    assert world.seated(bots) == 1
    assert world.statuses(bots)[Status.REJECTED] == 499
    check_invariants(world)


def test_q17_an_order_over_the_limit_does_not_spoil_a_batch(make_world: MakeWorld) -> None:
    """Q17: two orders of one buyer and one over the limit among others: only these are held back."""
    world = make_world(pools=(Pool("floor", 100),), max_per_buyer=4)
    greedy = world.order(5)
    first, second = world.order(3, buyer="bo"), world.order(3, buyer="bo")
    others = [world.order() for _ in range(48)]

    world.allocate(passes=3)

    assert [world.get(key).reason for key in (greedy, first, second)] == [
        Reason.OVER_BUYER_LIMIT,
        None,
        Reason.OVER_BUYER_LIMIT,
    ]
    assert world.seated(others) == 48


def test_q3_an_order_that_shows_late_is_served(make_world: MakeWorld) -> None:
    """Q3: a writer stalled between choosing its time and writing; later orders are drained, the late one follows."""
    world = make_world(pools=(Pool("floor", 500),))
    for _ in range(150):
        world.order(shard=1)
    late = world.make_order(shard=1, at_ms=world.clock.now_ms())
    world.clock.advance(1)
    for _ in range(150):
        world.order(shard=1)
    world.allocate(passes=20, step_s=0.2)
    world.store.accept(late)

    world.allocate(passes=14, step_s=0.5)

    assert world.seated([late.key])


@pytest.mark.parametrize("skew_s", [-10, 10])
def test_q4_a_skewed_writer_is_served_and_delays_nobody(world: World, skew_s: int) -> None:
    """Q4: an order from a clock ten seconds behind or ahead is processed with the others."""
    skewed = world.order(at_ms=world.clock.now_ms() + skew_s * 1000)
    others = [world.order() for _ in range(5)]

    world.allocate()

    assert world.seated([skewed, *others]) == 6


def test_q5_a_thousand_orders_of_one_instant_are_all_served(make_world: MakeWorld) -> None:
    """Q5: pages of equal times lose nobody and hold nobody twice."""
    world = make_world(pools=(Pool("floor", 1000),))
    keys = [world.order(at_ms=5_000) for _ in range(1000)]

    world.allocate(passes=30)

    assert world.seated(keys) == 1000
    check_invariants(world)


def test_an_order_that_ended_elsewhere_is_forgotten(make_world: MakeWorld) -> None:
    """What the index no longer shows is no longer counted as waiting."""
    world = make_world(pools=(Pool("floor", 1),))
    world.order(method=None)
    waiting = [world.order() for _ in range(3)]
    world.allocate(passes=2)
    queued = world.get(waiting[0])
    world.store.save(transitions.cancel_queued(queued, op="wish", now_ms=1), seen_rev=queued.rev)

    world.allocate(passes=3, step_s=5.0)

    notice = world.store.get_sale("gig").notice
    assert notice is not None
    assert notice.waiting == 2


def test_a_pause_of_allocation_stops_nothing_else(world: World) -> None:
    """While allocation is paused nobody is held, and held orders still become tickets."""
    first = world.order()
    world.allocate()
    world.change_sale(world.sale.changed(world.sale.status, allocation_paused=True))
    second = world.order()

    world.run(2)

    assert (world.status(first), world.status(second)) == (Status.CONFIRMED, Status.QUEUED)


def test_an_order_for_an_unknown_pool_is_parked_and_stops_nobody(world: World) -> None:
    """An order that wants seats of a pool the sale does not have is set aside with its error."""
    lost, other = world.order(pool="cellar"), world.order()

    world.allocate(passes=2)

    parked = world.get(lost).parked
    assert parked is not None
    assert "pool" in parked.error
    assert world.seated([other])


def test_q1_a_worker_that_slept_through_its_batch_changes_nothing(world: World) -> None:
    """Q1: two workers know the same line; the second one's batch is found gone, and nobody is held twice."""
    keys = [world.order() for _ in range(8)]
    sleeper, other = world.new_office(), world.new_office()
    sale = world.sale
    sleeper.allocate_once(sale.changed(sale.status, allocation_paused=True), 0)
    world.allocate(other)

    world.allocate(sleeper)

    assert world.seated(keys) == 8
    check_invariants(world)
