"""The story of one order's money, case by case."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from consumers.settlement.outcome import Outcome
from shared.domain import transitions
from shared.domain.errors import Conflicting
from shared.domain.money import Money
from shared.domain.order import Duty, Lane, PaymentState, Reason, Status
from shared.domain.order_id import OrderKey
from shared.ports import IntentStatus
from tests.fakes.payment import CARD, DECLINED_CARD, SLOW_CARD, lose_answers
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def _held(world: World, **order: object) -> OrderKey:
    world.clock.advance(0.5)
    key = world.order(**order)  # type: ignore[arg-type] # as `World.order`
    world.allocate()
    assert world.status(key) is Status.HELD
    return key


def _look_now(world: World, key: OrderKey) -> None:
    """Do what the webhook route does, a moment after whatever was before."""
    world.clock.advance(0.001)
    order = world.get(key)
    looked = transitions.look_now(order, op=f"hook-{order.rev}", now_ms=world.clock.now_ms())
    world.store.save(looked, seen_rev=order.rev)


def _settle(world: World, key: OrderKey) -> Outcome:
    return world.office.settle_once(world.sale, key)


def test_a_paid_hold_becomes_tickets_with_one_write(world: World) -> None:
    """A charge that succeeds is followed by one write with one unguessable code for each seat."""
    key = _held(world, quantity=3)
    before = world.get(key).rev

    assert _settle(world, key) is Outcome.CONFIRMED

    order = world.get(key)
    assert order.rev == before + 1
    assert len(set(order.tickets)) == 3
    assert all(re.fullmatch(r"[A-Z2-7]{26}", code) for code in order.tickets)
    assert (order.payment.state, order.payment.captured_minor) == (PaymentState.PAID, 7_500)
    assert order.work is None
    check_invariants(world)


def test_r8_a_free_order_is_confirmed_without_a_call(world: World) -> None:
    """R8: nothing is asked of the payment service for an amount of nothing."""
    key = _held(world, price=0)

    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    assert world.payments.calls == []


def test_p9_a_decline_leaves_the_seats_for_another_card(world: World) -> None:
    """P9: the same intent, a new try; at most five tries."""
    key = _held(world, method=DECLINED_CARD)
    world.sweep()
    for attempt in range(2, 5):
        order = world.get(key)
        assert (order.status, order.payment.state) == (Status.HELD, PaymentState.DECLINED)
        assert order.payment.decline_code == "card_declined"
        world.clock.advance(1)
        again = transitions.try_again(order, op=f"try-{attempt}", now_ms=world.clock.now_ms(), method=DECLINED_CARD)
        world.store.save(again, seen_rev=order.rev)
        world.sweep()
    world.clock.advance(1)
    order = world.get(key)
    last = transitions.try_again(order, op="try-5", now_ms=world.clock.now_ms(), method=CARD)
    world.store.save(last, seen_rev=order.rev)

    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    assert len(world.payments.intents) == 1
    assert world.payments.count("pay") == 5
    with pytest.raises(Conflicting):
        transitions.try_again(replace(order, payment=last.payment), op="try-6", now_ms=0, method=CARD)
    check_invariants(world)


def test_a_declined_hold_ends_with_its_time(world: World) -> None:
    """Without another card the intent is closed and the seats go back when the hold is over, not before."""
    key = _held(world, method=DECLINED_CARD)
    world.run(59)
    assert world.status(key) is Status.HELD

    world.run(3)

    assert world.status(key) is Status.EXPIRED
    assert world.get(key).reason is Reason.NOT_PAID_IN_TIME
    assert world.pool().left == 10
    check_invariants(world)


def test_a_hand_off_is_paid_by_the_buyer(world: World) -> None:
    """Without a method the buyer gets the intent's secret, and pays; the secret is forgotten then."""
    key = _held(world, method=None)
    world.sweep()
    payment = world.get(key).payment
    assert payment.client_secret == f"secret_{key.order_id}"
    assert (payment.state, payment.intent_id) == (PaymentState.OPEN, f"pi_{key.order_id}")
    world.payments.pay_by_hand(key.order_id)

    _look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    assert world.get(key).payment.client_secret is None
    check_invariants(world)


def test_p7_a_payment_is_found_though_no_webhook_comes(world: World) -> None:
    """P7: a handed-off payment is asked about by ourselves, well before the hold is given up."""
    key = _held(world, method=None)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)

    world.run(20)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


def test_asking_grows_rarer(make_world: MakeWorld) -> None:
    """A hand-off that nobody pays is asked about ever more rarely, not all the time."""
    world = make_world(hold_ttl_s=3_600)
    _held(world, method=None)

    world.run(3_000, step_s=2)

    assert 10 < world.payments.count("fetch") < 60


@pytest.mark.parametrize("times", [1, 20])
def test_p2_however_often_the_webhook_comes_there_is_one_effect(world: World, times: int) -> None:
    """P2: success told twenty times, before and after it is settled, gives one order confirmed once."""
    key = _held(world, method=None)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)
    for _ in range(times):
        _look_now(world, key)
    world.sweep()
    tickets = world.get(key).tickets
    for _ in range(times):
        _look_now(world, key)
        world.sweep()
        world.clock.advance(1)

    order = world.get(key)
    assert (order.status, order.tickets, order.work) == (Status.CONFIRMED, tickets, None)
    check_invariants(world)


def test_p3_news_of_an_earlier_failure_changes_nothing(world: World) -> None:
    """P3: a failed first try told an hour after a paid second one: it stays paid."""
    key = _held(world, method=DECLINED_CARD)
    world.sweep()
    order = world.get(key)
    world.store.save(transitions.try_again(order, op="2", now_ms=0, method=CARD), seen_rev=order.rev)
    world.sweep()
    world.clock.advance(3_600)

    _look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


def test_news_of_an_old_decline_does_not_cancel_a_new_try(world: World) -> None:
    """A check that finds the first try's decline carries out the second try that was written meanwhile."""
    key = _held(world, method=DECLINED_CARD)
    world.sweep()
    order = world.get(key)
    again = transitions.try_again(order, op="2", now_ms=world.clock.now_ms() + 30_000, method=CARD)
    world.store.save(again, seen_rev=order.rev)

    _look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


@pytest.mark.parametrize("paid_first", [True, False])
@pytest.mark.parametrize("hook", [True, False])
def test_s6_expiry_and_success_at_one_instant(world: World, paid_first: bool, hook: bool) -> None:
    """S6: whichever comes first, it is paid and kept, or closed and given back."""
    key = _held(world, method=None)
    world.sweep()
    world.clock.advance(61)
    if hook:
        _look_now(world, key)
    if paid_first:
        world.payments.pay_by_hand(key.order_id)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)
    _look_now(world, key)
    world.sweep()

    assert world.status(key) is (Status.CONFIRMED if paid_first else Status.EXPIRED)
    check_invariants(world)


def test_p6_success_after_the_hold_expired_is_paid_back_once(world: World) -> None:
    """P6: should money get through though the intent was closed, it is refunded exactly once."""
    key = _held(world, method=None)
    world.run(62)
    assert world.status(key) is Status.EXPIRED
    intent = world.payments.intent(key.order_id)
    assert intent is not None
    world.payments.change(key.order_id, status=IntentStatus.SUCCEEDED, captured_minor=2_500)

    for _ in range(3):
        _look_now(world, key)
        world.run(5)

    assert world.status(key) is Status.EXPIRED
    assert world.payments.refunds == {f"pi_{key.order_id}": 1}
    assert world.get(key).payment.refunded_minor == 2_500
    assert world.get(key).work is None
    check_invariants(world)


@pytest.mark.parametrize("paid", [True, False])
def test_a_payment_under_way_keeps_its_seats_past_the_holds_end(world: World, paid: bool) -> None:
    """What is processing cannot be closed: the seats stay until the payment service knows."""
    key = _held(world, method=SLOW_CARD)
    world.run(120)
    order = world.get(key)
    assert (order.status, order.payment.state) == (Status.HELD, PaymentState.PROCESSING)

    world.payments.finish(key.order_id, paid=paid)
    world.run(90)

    assert world.status(key) is (Status.CONFIRMED if paid else Status.EXPIRED)
    check_invariants(world)


def test_a_payment_under_way_for_a_day_is_shown_to_a_person(world: World) -> None:
    """Past a limit the order is parked with its seats, and says what to do."""
    key = _held(world, method=SLOW_CARD)

    world.run(90_000, step_s=100)

    order = world.get(key)
    assert order.status is Status.HELD
    assert order.parked is not None
    assert "ask the payment service" in order.parked.error
    check_invariants(world)


@pytest.mark.parametrize("wish_before_charge", [True, False])
def test_a_wish_to_cancel_closes_the_intent_first(world: World, wish_before_charge: bool) -> None:
    """The buyer's wish gives the seats back once the intent is closed, or the money was faster."""
    key = _held(world)
    order = world.get(key)
    if not wish_before_charge:
        world.payments.pay(world.payments.open_intent(key, order.amount), key=key, attempt=1, method=CARD)
    wish = transitions.ask_to_cancel(order, op="wish", now_ms=world.clock.now_ms())
    world.store.save(wish, seen_rev=order.rev)

    world.sweep()

    assert world.status(key) is (Status.CANCELLED if wish_before_charge else Status.CONFIRMED)
    check_invariants(world)


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
    key = _held(world)
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
    key = _held(world)
    other = _held(world, method=None)
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
    key = _held(world)
    world.payments.dead = True
    world.run(20)
    world.payments.dead = False

    world.run(15)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


@pytest.mark.parametrize("call", ["open_intent", "pay", "fetch", "close_intent"])
def test_p11_an_answer_lost_after_the_deed_changes_nothing(world: World, call: str) -> None:
    """P11: the connection drops after the service acted: no second charge, and the same end."""
    key = _held(world)
    leaver = _held(world, method=None)
    world.sweep()
    world.payments.after = lose_answers(call)

    world.run(80)

    assert world.status(key) is Status.CONFIRMED
    assert world.status(leaver) is Status.EXPIRED
    check_invariants(world)


def test_a_lost_answer_to_the_charge_does_not_charge_twice(world: World) -> None:
    """P11: the charge went through and its answer did not: the next look finds the money."""
    key = _held(world)
    world.payments.after = lose_answers("pay")

    assert _settle(world, key) is Outcome.PUT_OFF
    world.run(10)

    assert world.status(key) is Status.CONFIRMED
    assert world.payments.captures == {f"pi_{key.order_id}": 1}


def test_a_lost_answer_to_a_decline_does_not_try_the_card_twice(world: World) -> None:
    """P11: the card was declined and the answer was lost: the same try is repeated, which the service knows."""
    key = _held(world, method=DECLINED_CARD)
    world.payments.after = lose_answers("pay")

    world.run(20)

    assert world.get(key).payment.state is PaymentState.DECLINED
    assert world.payments.count("pay") == 2
    assert world.payments.tries(key.order_id) == 1


def test_q10_a_poison_order_is_parked_and_stops_nobody(make_world: MakeWorld) -> None:
    """Q10: an order whose call fails every time is parked after its retries with its error; the others go on."""
    world = make_world(hold_ttl_s=3_600)
    poison = _held(world, shard=3)
    others = [_held(world, shard=shard) for shard in (0, 1, 2, 3)]

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
    assert world.seen["failed"] == 7
    assert world.due(Lane.PARKED) == 1
    check_invariants(world)


def test_a_redriven_order_goes_on_where_it_stood(world: World) -> None:
    """After the redrive what was due is due now, and the order ends well."""
    key = _held(world)
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


def test_refunds_are_paid_up_to_their_total(world: World) -> None:
    """A refund that staff ordered is carried out up to the running total, however often it is due."""
    key = _held(world, quantity=2)
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
    key = _held(world)
    world.sweep()
    rev = world.get(key).rev

    world.run(30)
    assert world.get(key).rev == rev
    _look_now(world, key)
    world.run(30)

    assert set(world.get(key).duties) == {Duty.FULFIL}


def test_a_delayed_order_rejoins_its_old_place(world: World) -> None:
    """A queued order whose delay is over stands in line again where it stood."""
    key = world.order()
    order = world.get(key)
    later_ms = world.clock.now_ms() + 5_000
    delayed = transitions.delay(order, {Duty.REJOIN: later_ms}, op="wait", now_ms=0, failed=True)
    world.store.save(delayed, seen_rev=order.rev)
    world.run(3)
    assert world.status(key) is Status.QUEUED

    world.run(5)

    assert world.status(key) is Status.CONFIRMED


def test_a_lost_race_is_read_again(world: World) -> None:
    """Another writer between reading and writing: this write fails, the next look does the rest."""
    key = _held(world)
    world.payments.after = lambda name: _look_now(world, key) if name == "pay" else None

    assert _settle(world, key) is Outcome.LOST_RACE
    assert world.status(key) is Status.HELD
    world.run(2)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)
