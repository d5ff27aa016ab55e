"""The story of one order's money, case by case."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from consumers.settlement.outcome import Outcome
from shared.domain import transitions
from shared.domain.errors import Conflicting
from shared.domain.order import PaymentState, Reason, Status
from shared.ports.payment import IntentStatus
from tests.fakes.payment import CARD, DECLINED_CARD, SLOW_CARD
from tests.unit.consumers.scenes import held_order, look_now, settle
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def test_a_paid_hold_becomes_tickets_with_one_write(world: World) -> None:
    """A charge that succeeds is followed by one write with one unguessable code for each seat."""
    key = held_order(world, quantity=3)
    before = world.get(key).rev

    assert settle(world, key) is Outcome.CONFIRMED

    order = world.get(key)
    assert order.rev == before + 1
    assert len(set(order.tickets)) == 3
    assert all(re.fullmatch(r"[A-Z2-7]{26}", code) for code in order.tickets)
    assert (order.payment.state, order.payment.captured_minor) == (PaymentState.PAID, 7_500)
    assert order.work is None
    check_invariants(world)


def test_r8_a_free_order_is_confirmed_without_a_call(world: World) -> None:
    """R8: nothing is asked of the payment service for an amount of nothing."""
    key = held_order(world, price=0)

    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    assert world.payments.calls == []


def test_p9_a_decline_leaves_the_seats_for_another_card(world: World) -> None:
    """P9: the same intent, a new try; at most five tries."""
    key = held_order(world, method=DECLINED_CARD)
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
    key = held_order(world, method=DECLINED_CARD)
    world.run(59)
    assert world.status(key) is Status.HELD

    world.run(3)

    assert world.status(key) is Status.EXPIRED
    assert world.get(key).reason is Reason.NOT_PAID_IN_TIME
    assert world.pool().left == 10
    check_invariants(world)


def test_a_hand_off_is_paid_by_the_buyer(world: World) -> None:
    """Without a method the buyer gets the intent's secret, and pays; the secret is forgotten then."""
    key = held_order(world, method=None)
    world.sweep()
    payment = world.get(key).payment
    assert payment.client_secret == f"secret_{key.order_id}"
    assert (payment.state, payment.intent_id) == (PaymentState.OPEN, f"pi_{key.order_id}")
    world.payments.pay_by_hand(key.order_id)

    look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    assert world.get(key).payment.client_secret is None
    check_invariants(world)


def test_p7_a_payment_is_found_though_no_webhook_comes(world: World) -> None:
    """P7: a handed-off payment is asked about by ourselves, well before the hold is given up."""
    key = held_order(world, method=None)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)

    world.run(20)

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


def test_asking_grows_rarer(make_world: MakeWorld) -> None:
    """A hand-off that nobody pays is asked about ever more rarely, not all the time."""
    world = make_world(hold_ttl_s=3_600)
    held_order(world, method=None)

    world.run(3_000, step_s=2)

    assert 10 < world.payments.count("fetch") < 60


@pytest.mark.parametrize("times", [1, 20])
def test_p2_however_often_the_webhook_comes_there_is_one_effect(world: World, times: int) -> None:
    """P2: success told twenty times, before and after it is settled, gives one order confirmed once."""
    key = held_order(world, method=None)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)
    for _ in range(times):
        look_now(world, key)
    world.sweep()
    tickets = world.get(key).tickets
    for _ in range(times):
        look_now(world, key)
        world.sweep()
        world.clock.advance(1)

    order = world.get(key)
    assert (order.status, order.tickets, order.work) == (Status.CONFIRMED, tickets, None)
    check_invariants(world)


def test_p3_news_of_an_earlier_failure_changes_nothing(world: World) -> None:
    """P3: a failed first try told an hour after a paid second one: it stays paid."""
    key = held_order(world, method=DECLINED_CARD)
    world.sweep()
    order = world.get(key)
    world.store.save(transitions.try_again(order, op="2", now_ms=0, method=CARD), seen_rev=order.rev)
    world.sweep()
    world.clock.advance(3_600)

    look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


def test_news_of_an_old_decline_does_not_cancel_a_new_try(world: World) -> None:
    """A check that finds the first try's decline carries out the second try that was written meanwhile."""
    key = held_order(world, method=DECLINED_CARD)
    world.sweep()
    order = world.get(key)
    again = transitions.try_again(order, op="2", now_ms=world.clock.now_ms() + 30_000, method=CARD)
    world.store.save(again, seen_rev=order.rev)

    look_now(world, key)
    world.sweep()

    assert world.status(key) is Status.CONFIRMED
    check_invariants(world)


@pytest.mark.parametrize("paid_first", [True, False])
@pytest.mark.parametrize("hook", [True, False])
def test_s6_expiry_and_success_at_one_instant(world: World, paid_first: bool, hook: bool) -> None:
    """S6: whichever comes first, it is paid and kept, or closed and given back."""
    key = held_order(world, method=None)
    world.sweep()
    world.clock.advance(61)
    if hook:
        look_now(world, key)
    if paid_first:
        world.payments.pay_by_hand(key.order_id)
    world.sweep()
    world.payments.pay_by_hand(key.order_id)
    look_now(world, key)
    world.sweep()

    assert world.status(key) is (Status.CONFIRMED if paid_first else Status.EXPIRED)
    check_invariants(world)


def test_p6_success_after_the_hold_expired_is_paid_back_once(world: World) -> None:
    """P6: should money get through though the intent was closed, it is refunded exactly once."""
    key = held_order(world, method=None)
    world.run(62)
    assert world.status(key) is Status.EXPIRED
    intent = world.payments.intent(key.order_id)
    assert intent is not None
    world.payments.change(key.order_id, status=IntentStatus.SUCCEEDED, captured_minor=2_500)

    for _ in range(3):
        look_now(world, key)
        world.run(5)

    assert world.status(key) is Status.EXPIRED
    assert world.payments.refunds == {f"pi_{key.order_id}": 1}
    assert world.get(key).payment.refunded_minor == 2_500
    assert world.get(key).work is None
    check_invariants(world)


@pytest.mark.parametrize("paid", [True, False])
def test_a_payment_under_way_keeps_its_seats_past_the_holds_end(world: World, paid: bool) -> None:
    """What is processing cannot be closed: the seats stay until the payment service knows."""
    key = held_order(world, method=SLOW_CARD)
    world.run(120)
    order = world.get(key)
    assert (order.status, order.payment.state) == (Status.HELD, PaymentState.PROCESSING)

    world.payments.finish(key.order_id, paid=paid)
    world.run(90)

    assert world.status(key) is (Status.CONFIRMED if paid else Status.EXPIRED)
    check_invariants(world)


def test_a_payment_under_way_for_a_day_is_shown_to_a_person(world: World) -> None:
    """Past a limit the order is parked with its seats, and says what to do."""
    key = held_order(world, method=SLOW_CARD)

    world.run(90_000, step_s=100)

    order = world.get(key)
    assert order.status is Status.HELD
    assert order.parked is not None
    assert "ask the payment service" in order.parked.error
    check_invariants(world)


@pytest.mark.parametrize("wish_before_charge", [True, False])
def test_a_wish_to_cancel_closes_the_intent_first(world: World, wish_before_charge: bool) -> None:
    """The buyer's wish gives the seats back once the intent is closed, or the money was faster."""
    key = held_order(world)
    order = world.get(key)
    if not wish_before_charge:
        world.payments.pay(world.payments.open_intent(key, order.amount), key=key, attempt=1, method=CARD)
    wish = transitions.ask_to_cancel(order, op="wish", now_ms=world.clock.now_ms())
    world.store.save(wish, seen_rev=order.rev)

    world.sweep()

    assert world.status(key) is (Status.CANCELLED if wish_before_charge else Status.CONFIRMED)
    check_invariants(world)
