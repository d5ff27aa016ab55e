"""The way of an order: an entry for each write, few and small."""

from __future__ import annotations

from msgspec.structs import replace

from shared.domain import handing_out, transitions
from shared.domain.journey import MAX_STEPS
from shared.domain.order import Duty, Order, PaymentState, Reason, Status
from shared.domain.taken import Stage
from shared.stores.items import order_item, read_order
from shared.stores.limits import item_bytes
from tests.builders import make_order


def held(order: Order, now_ms: int = 3_000) -> Order:
    """Hold an order for a minute."""
    return transitions.hold(order, op="h", now_ms=now_ms, hold_ends_at_ms=now_ms + 60_000, slices={"floor": 0})


def test_a_usual_life_is_two_entries() -> None:
    """Held and confirmed, each with its time; acceptance has a field of its own."""
    order = held(make_order())
    paid = replace(order.payment, state=PaymentState.PAID, captured_minor=2_500)
    order = transitions.confirm(order, paid, op="c", now_ms=4_000, tickets=("T",))

    assert [(step.what, step.at_ms) for step in order.steps] == [("held", 3_000), ("confirmed", 4_000)]
    assert item_bytes(order_item(order)["steps"]) < 50


def test_every_kind_of_step_has_its_word() -> None:
    """Tries, news, wishes, silence and money back are told apart."""
    order = held(make_order())
    declined = replace(order.payment, state=PaymentState.DECLINED)
    order = transitions.note_payment(order, declined, order.duties, op="a", now_ms=5_000)
    order = transitions.try_again(order, op="b", now_ms=6_000, method="pm_2")
    order = transitions.look_now(order, op="c", now_ms=7_000)
    order = transitions.wait_for_service(order, {Duty.CHECK: 9_000}, op="d", now_ms=8_000)
    order = transitions.ask_to_cancel(order, op="e", now_ms=9_000)
    paid = replace(order.payment, state=PaymentState.PAID, captured_minor=2_500, silent_since_ms=None)
    order = transitions.confirm(order, paid, op="f", now_ms=10_000, tickets=("T",), fulfilment=True)
    order = handing_out.take(order, Stage.FULFILMENT, op="g", now_ms=11_000, until_ms=20_000)
    order = handing_out.complete(order, Stage.FULFILMENT, "g", op="h", now_ms=12_000)
    order = transitions.refund_whole(order, op="i", now_ms=13_000, reason=Reason.REFUNDED_BY_STAFF)
    back = replace(order.payment, refunded_minor=2_500)
    order = transitions.note_payment(order, back, {}, op="j", now_ms=14_000)

    assert [step.what for step in order.steps] == [
        "held",
        "payment_declined",
        "tried_again",
        "news",
        "service_silent",
        "cancel_asked",
        "confirmed",
        "handed_out",
        "fulfilled",
        "refunded",
        "paid_back",
    ]
    assert read_order(order_item(order)) == order


def test_trouble_is_told_once() -> None:
    """Failures, parking and redriving stand in the history with their errors, and nowhere else."""
    order = transitions.fail(make_order(), {Duty.REJOIN: 4_000}, op="a", now_ms=3_000, error="It broke.")
    order = transitions.park(order, op="b", now_ms=4_000, error="It broke again.")
    order = transitions.redrive(order, op="c", now_ms=5_000)

    assert order.steps == ()
    assert len(order.history) == 3


def test_the_way_stays_small() -> None:
    """An order looked at for days has one entry for it; one with many turns keeps the first and the newest."""
    order = held(make_order())
    for number in range(2_000):
        order = transitions.note_payment(order, order.payment, order.duties, op="n", now_ms=4_000 + number)
    assert [(step.what, step.times, step.last_ms) for step in order.steps] == [
        ("held", 1, None),
        ("looked", 2_000, 5_999),
    ]

    for number in range(200):
        states = (PaymentState.OPEN, PaymentState.PROCESSING)
        payment = replace(order.payment, state=states[number % 2])
        order = transitions.note_payment(order, payment, order.duties, op="n", now_ms=6_000 + number)
    assert len(order.steps) == MAX_STEPS
    assert order.steps[0].what == "held"
    assert order.steps[-1].at_ms == 6_199
    assert item_bytes(order_item(order)["steps"]) < 600
    assert order.status is Status.HELD
