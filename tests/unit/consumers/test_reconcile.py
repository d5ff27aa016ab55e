"""Our orders against the books: every difference is mended by a worker, or told to a person in a sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from consumers.reconcile.compare import STUCK_MS
from consumers.reconcile.report import Course, Report
from consumers.reconcile.walk import ORPHAN_AFTER_MS, PAGE_INTENTS, Reconciler
from shared.domain.money import Money
from shared.domain.order import Duty, Order, PaymentState, Reason, Status
from shared.domain.order_id import OrderKey, order_key
from shared.domain.transitions import park
from shared.ports.payment import Intent, IntentStatus
from tests.fakes.payment import CARD, SLOW_CARD
from tests.fakes.system import SeededIds
from tests.unit.consumers.world import World, check_invariants

MakeWorld = Callable[..., World]


def reconcile(world: World, **options: object) -> Report:
    """Walk once."""
    return Reconciler(world.store, world.payments, world.clock, SeededIds(99)).walk(**options)  # type: ignore[arg-type] # as given


def rewrite(world: World, key: OrderKey, **changes: object) -> Order:
    """Change a stored order behind everybody's back."""
    order = world.get(key)
    after = replace(order, rev=order.rev + 1, op="spoilt", **changes)  # type: ignore[arg-type] # as `replace`
    assert world.store.save(after, seen_rev=order.rev).done
    return after


def lost_intent(world: World, number: int, status: IntentStatus = IntentStatus.SUCCEEDED, event: str = "gig") -> Intent:
    """Put a payment of ours into the books for which there is no order."""
    key = order_key(event, number.to_bytes(16, "big"), world.sale.shard_counts, 1)
    taken = 700 if status is IntentStatus.SUCCEEDED else 0
    intent = Intent(f"pi_{key.order_id}", status, Money(700, "EUR"), taken, 0, None, None, key, world.clock.now_ms())
    world.payments.intents[intent.intent_id] = intent
    return intent


def test_a_sale_at_rest_agrees_with_its_books(world: World) -> None:
    """Paid, declined, expired, refunded orders: nothing to find, everything counted."""
    keys = [world.order(method=method) for method in (CARD, None, CARD)]
    world.run(200, step_s=5)
    rewrite(world, keys[0])

    report = reconcile(world)

    assert (report.intents, report.orders, report.open, report.complete) == (3, 3, 0, True)
    check_invariants(world)


def test_p7_a_payment_is_found_before_the_hold_is_given_up(world: World) -> None:
    """Webhooks never arrive: the walk sends a worker to look, and the order is confirmed within its hold."""
    key = world.order(method=None)
    world.allocate()
    world.sweep()
    rewrite(world, key, duties={Duty.HOLD_END: world.clock.now_ms() + 50_000})
    world.payments.pay_by_hand(key.order_id)
    world.clock.advance(1)

    report = reconcile(world)
    world.sweep()

    assert (report.mended, report.for_a_person) == (1, 0)
    assert [one.code for one in report.findings] == ["unseen"]
    assert world.status(key) is Status.CONFIRMED
    assert reconcile(world).open == 0


def test_an_open_hold_is_no_difference(world: World) -> None:
    """A hand-off that waits for its buyer, and money on its way, agree with the books."""
    world.order(method=None)
    world.order(method=SLOW_CARD)
    world.allocate()
    world.sweep()

    assert reconcile(world).open == 0


def test_money_for_an_order_that_ended_goes_back(world: World) -> None:
    """A success behind our back on an expired order is looked at and paid back once."""
    key = world.order(method=None)
    world.run(100, step_s=5)
    assert world.status(key) is Status.EXPIRED
    world.payments.change(key.order_id, status=IntentStatus.SUCCEEDED, captured_minor=2_500)

    first = reconcile(world)
    world.run(10)
    second = reconcile(world)

    assert (first.mended, second.open) == (1, 0)
    assert world.payments.refunds[f"pi_{key.order_id}"] == 1
    check_invariants(world)


def test_a_payment_still_open_after_its_order_ended_is_closed(world: World) -> None:
    """Nothing can be paid any more on what is over."""
    key = world.order(method=None)
    world.run(100, step_s=5)
    world.payments.change(key.order_id, status=IntentStatus.OPEN)

    assert reconcile(world).mended == 1
    world.run(2)

    intent = world.payments.intent(key.order_id)
    assert intent is not None
    assert intent.status is IntentStatus.CLOSED


@pytest.mark.parametrize("status", [IntentStatus.SUCCEEDED, IntentStatus.OPEN, IntentStatus.PROCESSING])
def test_p5_a_payment_without_an_order_is_paid_back_by_a_duty(world: World, status: IntentStatus) -> None:
    """An orphan: a stand-in is stored, the money goes back once, an open one is closed, one under way awaited."""
    intent = lost_intent(world, 900, status)
    world.clock.advance(ORPHAN_AFTER_MS / 1000)

    first = reconcile(world)
    world.run(10)
    if status is IntentStatus.PROCESSING:
        assert intent.order_key is not None
        world.payments.finish(intent.order_key.order_id, paid=True)
        world.run(200, step_s=5)
    after = world.payments.intents[intent.intent_id]

    assert [one.code for one in first.findings] == ["orphan"]
    assert after.captured_minor == after.refunded_minor
    assert after.status in {IntentStatus.SUCCEEDED, IntentStatus.CLOSED}
    assert world.payments.refunds.get(intent.intent_id, 0) == (after.captured_minor > 0)
    assert reconcile(world).open == 0
    (orphan,) = world.orders()
    assert (orphan.reason, orphan.status, orphan.work) == (Reason.ORPHANED, Status.CANCELLED, None)


def test_young_payments_may_still_find_their_order(world: World) -> None:
    """A payment of this minute is left for the next walk."""
    lost_intent(world, 900)

    assert reconcile(world).open == 0
    assert world.orders() == []


def test_an_event_that_is_not_stored_is_a_matter_for_a_person(world: World) -> None:
    """No worker serves it, so nobody is sent."""
    lost_intent(world, 900, event="lost")
    world.clock.advance(ORPHAN_AFTER_MS / 1000)

    report = reconcile(world)

    assert [(one.course, one.code) for one in report.findings] == [(Course.PERSON, "unknown-event")]


def test_foreign_payments_are_counted_and_left_alone(world: World) -> None:
    """What carries no valid tag is not ours, whatever it says."""
    intent = lost_intent(world, 900)
    world.payments.intents[intent.intent_id] = replace(intent, order_key=None)
    world.clock.advance(ORPHAN_AFTER_MS / 1000)
    calls = len(world.payments.calls)

    report = reconcile(world)

    assert (report.intents, report.foreign, report.open) == (1, 1, 0)
    assert len(world.payments.calls) == calls + 1


def spoil_amount(world: World, key: OrderKey) -> None:
    """The payment is over another amount."""
    world.payments.change(key.order_id, amount=Money(1, "EUR"))


def spoil_currency(world: World, key: OrderKey) -> None:
    """The payment is in another currency."""
    world.payments.change(key.order_id, amount=Money(2_500, "JPY"))


def unpay(world: World, key: OrderKey) -> None:
    """A confirmed order was never paid."""
    world.payments.change(key.order_id, status=IntentStatus.OPEN, captured_minor=0)


def forget(world: World, key: OrderKey) -> None:
    """The books have lost the payment."""
    del world.payments.intents[f"pi_{key.order_id}"]


def lose_payment(world: World, key: OrderKey) -> None:
    """The order has lost its payment."""
    rewrite(world, key, payment=replace(world.get(key).payment, intent_id=None))
    forget(world, key)


def pay_twice(world: World, key: OrderKey) -> None:
    """A second payment carries the same tag."""
    first = world.payments.intents[f"pi_{key.order_id}"]
    world.payments.intents["pi_second"] = replace(first, intent_id="pi_second")


def refund_outside(world: World, key: OrderKey) -> None:
    """Somebody paid back by other means."""
    world.payments.change(key.order_id, refunded_minor=500)


def set_aside(world: World, key: OrderKey) -> None:
    """The order is parked."""
    order = world.get(key)
    assert world.store.save(park(order, op="p", now_ms=0, error="It is odd."), seen_rev=order.rev).done


def strand(world: World, key: OrderKey) -> None:
    """Nobody does what is long due."""
    rewrite(world, key, duties={Duty.REFUND: world.clock.now_ms()})
    world.clock.advance(STUCK_MS / 1000)


def retag(world: World, key: OrderKey) -> None:
    """The tag does not prove anything any more."""
    world.payments.change(key.order_id, order_key=None)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (spoil_amount, "other-amount"),
        (spoil_currency, "other-amount"),
        (unpay, "unpaid-confirmed"),
        (forget, "unknown-payment"),
        (lose_payment, "unpaid-confirmed"),
        (pay_twice, "second-payment"),
        (refund_outside, "refunded-outside"),
        (set_aside, "parked"),
        (strand, "stuck"),
        (retag, "other-tag"),
    ],
)
def test_what_no_worker_can_know_is_told_to_a_person(
    world: World, spoil: Callable[[World, OrderKey], None], code: str
) -> None:
    """Every planted difference is found, with a sentence that names it; the sound order beside it is not."""
    key, _sound = world.order(), world.order()
    world.run(5)
    spoil(world, key)

    report = reconcile(world)

    assert [(one.course, one.code, one.order_id) for one in report.findings] == [(Course.PERSON, code, key.order_id)]
    assert report.findings[0].sentence.endswith((".", "?"))
    assert report.for_a_person == 1


def test_a_refund_outside_is_noted_on_the_order(world: World) -> None:
    """The person is told once; the worker that looks takes the total over, and both agree from then on."""
    key = world.order()
    world.run(5)
    refund_outside(world, key)

    assert reconcile(world).for_a_person == 1
    world.run(5)

    assert world.get(key).payment.refund_due_minor == 500
    assert reconcile(world).open == 0


def test_a_paid_order_in_line_is_told(world: World) -> None:
    """As after a store was restored from an old copy: a person decides."""
    key = world.order()
    world.run(5)
    rewrite(
        world,
        key,
        status=Status.QUEUED,
        duties={},
        seats=(),
        tickets=(),
        payment=replace(world.get(key).payment, state=PaymentState.NONE, intent_id=None, attempt=0),
    )

    assert [one.code for one in reconcile(world).findings] == ["paid-in-line"]


def test_a_refund_under_way_is_open_and_nobodys_matter(world: World) -> None:
    """What a worker is at counts as open, without a sentence."""
    key = world.order()
    world.run(5)
    order = world.get(key)
    due = replace(order.payment, refund_due_minor=500)
    rewrite(world, key, payment=due, duties={Duty.REFUND: world.clock.now_ms() + 60_000})

    report = reconcile(world)

    assert (report.under_way, report.open, report.findings) == (1, 1, [])


def test_a_difference_that_is_gone_when_read_again_is_none(world: World) -> None:
    """What a person would be told is read once more first: the walk may have met an order half-way."""
    key = world.order()
    world.run(5)
    good = world.payments.intents[f"pi_{key.order_id}"]
    unpay(world, key)

    def heal(name: str) -> None:
        if name == "fetch":
            world.payments.intents[good.intent_id] = good

    world.payments.before = heal

    assert reconcile(world).open == 0


def test_the_books_are_walked_in_pages_that_end_in_time(make_world: MakeWorld) -> None:
    """Two and a half pages; a walk that is cut off says where it was, and the next goes on there."""
    world = make_world()
    for number in range(5 * PAGE_INTENTS // 2):
        intent = lost_intent(world, number, IntentStatus.CLOSED)
        world.payments.intents[intent.intent_id] = replace(intent, intent_id=f"pi_{number:05d}")
    pages = iter([True, False])

    first = reconcile(world, goes_on=lambda: next(pages))
    second = reconcile(world, cursor=first.cursor)

    assert (first.intents, first.complete) == (PAGE_INTENTS, False)
    assert (second.intents, second.complete, second.cursor) == (3 * PAGE_INTENTS // 2, True, None)
    assert world.payments.count("list_intents") == 3


def test_old_orders_are_left_out_when_asked(world: World) -> None:
    """`since_ms` bounds the walk on both sides."""
    world.order()
    world.run(5)

    report = reconcile(world, since_ms=world.clock.now_ms() + 1)

    assert (report.orders, report.complete) == (0, True)
