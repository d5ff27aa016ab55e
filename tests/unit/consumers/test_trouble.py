"""What happens to an order's money when something is wrong: foreign intents, dead services, poison, late refunds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from consumers.settlement.outcome import Outcome
from shared.domain import transitions
from shared.domain.money import Money
from shared.domain.order import Duty, Lane, PaymentState, Status
from shared.domain.order_id import OrderKey
from shared.ports.payment import IntentStatus
from tests.fakes.payment import DECLINED_CARD, lose_answers
from tests.unit.consumers.scenes import held_order, look_now, settle
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": Money(2_501, "EUR")},
        {"amount": Money(2_500, "USD")},
        {"order_key": None},
        {"order_key": OrderKey("gig", 0, f"1-{7:032x}")},
        {"status": IntentStatus.SUCCEEDED, "captured_minor": 100},
    ],
    ids=["amount", "currency", "untagged", "another order", "captured"],
)
def test_an_intent_that_is_not_the_orders_is_never_believed(world: World, changes: dict[str, object]) -> None:
    """A mismatch parks the order with a clear error: nothing is confirmed, charged or given back."""
    key = held_order(world)
    order = world.get(key)
    world.payments.open_intent(key, order.amount)
    world.payments.change(key.order_id, **changes)

    world.run(300, step_s=5)

    order = world.get(key)
    assert order.status is Status.HELD
    assert order.parked is not None
    assert "payment intent" in order.parked.error
    assert world.payments.captures == {}


def test_p11_a_dead_service_loses_no_seat_and_counts_no_failure(world: World) -> None:
    """P11: while the service is dead the order says what is known, keeps its seats, and is settled when it is back."""
    key = held_order(world)
    other = held_order(world, method=None)
    world.payments.dead = True
    world.run(100)
    assert world.statuses([key, other]) == {Status.HELD: 2}
    assert world.get(key).failures == 0
    writes = world.seen["put_off"]

    world.payments.dead = False
    world.run(40)

    assert world.statuses([key, other]) == {Status.EXPIRED: 2}
    assert writes < 50
    check_invariants(world)


def test_p11_a_short_outage_is_outlived(world: World) -> None:
    """P11: an outage shorter than the hold delays the charge and nothing else."""
    key = held_order(world)
    world.payments.dead = True
    world.run(20)
    world.payments.dead = False

    world.run(15)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


@pytest.mark.parametrize("call", ["open_intent", "pay", "fetch", "close_intent"])
def test_p11_an_answer_lost_after_the_deed_changes_nothing(world: World, call: str) -> None:
    """P11: the connection drops after the service acted: no second charge, and the same end."""
    key = held_order(world)
    leaver = held_order(world, method=None)
    world.sweep()
    world.payments.after = lose_answers(call)

    world.run(80)

    assert world.status(key) is Status.CONFIRMED
    assert world.status(leaver) is Status.EXPIRED
    check_invariants(world)


def test_a_lost_answer_to_the_charge_does_not_charge_twice(world: World) -> None:
    """P11: the charge went through and its answer did not: the next look finds the money."""
    key = held_order(world)
    world.payments.after = lose_answers("pay")

    assert settle(world, key) is Outcome.PUT_OFF
    world.run(10)

    assert world.status(key) is Status.CONFIRMED
    assert world.payments.captures == {f"pi_{key.order_id}": 1}


def test_a_lost_answer_to_a_decline_does_not_try_the_card_twice(world: World) -> None:
    """P11: the card was declined and the answer was lost: the same try is repeated, which the service knows."""
    key = held_order(world, method=DECLINED_CARD)
    world.payments.after = lose_answers("pay")

    world.run(20)

    assert world.get(key).payment.state is PaymentState.DECLINED
    assert world.payments.count("pay") == 2
    assert world.payments.tries(key.order_id) == 1


def test_q10_a_poison_order_is_parked_and_stops_nobody(make_world: MakeWorld) -> None:
    """Q10: an order whose call fails every time is parked after its retries with its error; the others go on."""
    world = make_world(hold_ttl_s=3_600)
    poison = held_order(world, shard=3)
    others = [held_order(world, shard=shard) for shard in (0, 1, 2, 3)]

    def before(name: str) -> None:
        if name == "pay" and world.payments.calls[-1].key == poison:
            raise ValueError("unheard of")

    world.payments.before = before

    world.run(1_200, step_s=2)

    order = world.get(poison)
    assert world.statuses(others) == {Status.CONFIRMED: 4}
    assert order.status is Status.HELD
    assert order.parked is not None
    assert order.parked.error == "ValueError: unheard of"
    assert order.failures == 8
    assert [str(entry.kind) for entry in order.history] == ["failed"] * 7 + ["parked"]
    assert {(entry.duty, entry.note) for entry in order.history} == {("pay", "ValueError: unheard of")}
    delays = [after.at_ms - before.at_ms for before, after in pairwise(order.history)]
    assert max(delays) <= 1_000 * 2**6 + 2_000
    assert world.seen["failed"] == 7
    assert world.due(Lane.PARKED) == 1
    check_invariants(world)


def test_a_redriven_order_goes_on_where_it_stood(world: World) -> None:
    """After the redrive what was due is due now, and the order ends well."""
    key = held_order(world)
    order = world.get(key)
    parked = transitions.park(order, op="park", now_ms=world.clock.now_ms(), error="A test.")
    world.store.save(parked, seen_rev=order.rev)
    world.run(5)
    assert world.status(key) is Status.HELD
    order = world.get(key)
    world.store.save(transitions.redrive(order, op="redrive", now_ms=world.clock.now_ms()), seen_rev=order.rev)

    world.run(2)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


def test_silence_about_one_order_ends_with_a_person(world: World) -> None:
    """A payment service that never answers about an order has a day; then the order is parked, and a redrive helps."""
    key = held_order(world)
    order = world.get(key)
    day_ago_ms = world.clock.now_ms() - 25 * 3_600_000
    silent = replace(order.payment, silent_since_ms=day_ago_ms)
    waiting = transitions.note_payment(order, silent, order.duties, op="silent", now_ms=world.clock.now_ms())
    world.store.save(waiting, seen_rev=order.rev)
    world.payments.dead = True

    assert settle(world, key) is Outcome.PARKED
    parked = world.get(key)
    assert parked.parked is not None
    assert "not answered" in parked.parked.error

    world.payments.dead = False
    redriven = transitions.redrive(parked, op="again", now_ms=world.clock.now_ms(), who="boss")
    world.store.save(redriven, seen_rev=parked.rev)
    world.run(2)
    assert world.status(key) is Status.CONFIRMED


def test_few_failures_over_a_day_are_enough(world: World) -> None:
    """A row of failures that has lasted more than a day is parked before its eighth."""
    key = held_order(world)
    order = world.get(key)
    day_ago_ms = world.clock.now_ms() - 25 * 3_600_000
    failed = transitions.fail(order, order.duties, op="fail", now_ms=day_ago_ms, error="It broke.")
    world.store.save(failed, seen_rev=order.rev)

    def before(_: str) -> None:
        raise ValueError("unheard of")

    world.payments.before = before

    assert settle(world, key) is Outcome.PARKED
    assert world.get(key).failures == 2


def test_refunds_are_paid_up_to_their_total(world: World) -> None:
    """A refund that staff ordered is carried out up to the running total, however often it is due."""
    key = held_order(world, quantity=2)
    world.sweep()
    for total in (1_000, 1_000, 5_000):
        order = world.get(key)
        owed = transitions.owe_refund(
            order, order.payment, op=f"r{order.rev}", now_ms=world.clock.now_ms(), due_minor=total
        )
        world.store.save(owed, seen_rev=order.rev)
        world.payments.after = lose_answers("refund")
        world.run(20)
        intent = world.payments.intent(key.order_id)
        assert intent is not None
        assert intent.refunded_minor == total

    assert world.payments.refunds == {f"pi_{key.order_id}": 2}
    assert world.get(key).work is None


def test_what_waits_for_fulfilment_is_left_alone(make_world: MakeWorld) -> None:
    """A confirmed order that an outside program is to fetch is not touched by workers, nor by late webhooks."""
    world = make_world(fulfilment=True)
    key = held_order(world)
    world.sweep()
    rev = world.get(key).rev

    world.run(30)
    assert world.get(key).rev == rev
    look_now(world, key)
    world.run(30)

    assert set(world.get(key).duties) == {Duty.FULFIL}


def test_a_delayed_order_rejoins_its_old_place(world: World) -> None:
    """A queued order whose delay is over stands in line again where it stood."""
    key = world.order()
    order = world.get(key)
    later_ms = world.clock.now_ms() + 5_000
    delayed = transitions.fail(order, {Duty.REJOIN: later_ms}, op="wait", now_ms=0, error="It broke.")
    world.store.save(delayed, seen_rev=order.rev)
    world.run(3)
    assert world.status(key) is Status.QUEUED

    world.run(5)

    assert world.status(key) is Status.CONFIRMED


def test_a_lost_race_is_read_again(world: World) -> None:
    """Another writer between reading and writing: this write fails, the next look does the rest."""
    key = held_order(world)
    world.payments.after = lambda name: look_now(world, key) if name == "pay" else None

    assert settle(world, key) is Outcome.LOST_RACE
    assert world.status(key) is Status.HELD
    world.run(2)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)
