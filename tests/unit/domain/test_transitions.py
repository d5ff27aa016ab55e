"""The order's state machine."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import Conflicting
from shared.domain.order import FINAL, MAX_ATTEMPTS, Duty, Lane, Order, PaymentState, Reason, Status
from tests.builders import make_order

NOW = 50_000
Step = Callable[[Order], Order]


def held(order: Order | None = None) -> Order:
    """Give an order its seats until NOW + 60 s."""
    return transitions.hold(
        order or make_order(), op="h", now_ms=NOW, hold_ends_at_ms=NOW + 60_000, slices={"floor": 0}
    )


STEPS: dict[str, Step] = {
    "hold": held,
    "reject": lambda order: transitions.reject(order, op="r", now_ms=NOW, reason=Reason.SOLD_OUT),
    "cancel": lambda order: transitions.cancel_queued(order, op="c", now_ms=NOW),
    "confirm": lambda order: transitions.confirm(
        order, replace(order.payment, state=PaymentState.PAID, captured_minor=2_500), op="k", now_ms=NOW, tickets=("T",)
    ),
    "expire": lambda order: transitions.release(
        order, order.payment, op="e", now_ms=NOW, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
    ),
    "ask": lambda order: transitions.ask_to_cancel(order, op="a", now_ms=NOW),
}
ALLOWED = {
    (Status.QUEUED, "hold"): Status.HELD,
    (Status.QUEUED, "reject"): Status.REJECTED,
    (Status.QUEUED, "cancel"): Status.CANCELLED,
    (Status.HELD, "confirm"): Status.CONFIRMED,
    (Status.HELD, "expire"): Status.EXPIRED,
    (Status.HELD, "ask"): Status.HELD,
}


@pytest.mark.parametrize(("status", "step"), list(itertools.product(Status, STEPS)))
def test_only_the_drawn_arrows_exist(status: Status, step: str) -> None:
    """A step from a status that has no such arrow is refused; every other one leads where the drawing says."""
    order = replace(make_order(), status=status)
    if (status, step) in ALLOWED:
        assert STEPS[step](order).status is ALLOWED[status, step]
    else:
        with pytest.raises(Conflicting):
            STEPS[step](order)


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=8))
def test_every_write_moves_rev_and_an_ended_order_has_nothing_left_to_do(steps: list[str]) -> None:
    """Whatever is tried in whatever order, `rev` counts the writes, and an ended order leaves the work index."""
    order = make_order()
    for step in steps:
        try:
            after = STEPS[step](order)
        except Conflicting:
            continue
        assert after.rev == order.rev + 1
        order = after
    assert (order.work is None) == (order.status in FINAL)


def test_a_hold_carries_its_first_payment_try_and_its_end() -> None:
    """The write that gives seats also writes the first try, so that no money can move unwritten."""
    order = held()
    assert order.payment.attempt == 1
    assert order.duties == {Duty.PAY: NOW, Duty.HOLD_END: NOW + 60_000}
    assert order.work == (Lane.TIMER, NOW)
    assert order.must_ask_before_release


def test_r8_a_free_order_never_needs_the_payment_service() -> None:
    """R8: an order of price 0 may be released without asking, for no money can have moved."""
    free = make_order()
    assert not held(replace(free, amount=replace(free.amount, minor=0))).must_ask_before_release


def test_s4_a_refused_change_does_not_move_the_end_of_the_hold() -> None:
    """S4: neither a new try nor a wish to cancel moves the hold's end."""
    order = held()
    declined = replace(order, payment=replace(order.payment, state=PaymentState.DECLINED))
    tried = transitions.try_again(declined, op="t", now_ms=NOW + 5, method="pm_other")
    asked = transitions.ask_to_cancel(order, op="a", now_ms=NOW + 5)
    assert tried.duties[Duty.HOLD_END] == asked.duties[Duty.HOLD_END] == NOW + 60_000


def test_p9_another_card_is_a_new_try_until_five_were_made() -> None:
    """P9: after a decline the same order takes another card, five tries at most, one at a time."""
    order = held()
    with pytest.raises(Conflicting, match="under way"):
        transitions.try_again(order, op="t", now_ms=NOW, method="pm_other")
    for attempt in range(2, MAX_ATTEMPTS + 1):
        order = replace(order, payment=replace(order.payment, state=PaymentState.DECLINED))
        order = transitions.try_again(order, op="t", now_ms=NOW, method="pm_other")
        assert order.payment.attempt == attempt
    order = replace(order, payment=replace(order.payment, state=PaymentState.DECLINED))
    with pytest.raises(Conflicting, match="5 times"):
        transitions.try_again(order, op="t", now_ms=NOW, method="pm_other")


def test_p10_refunds_never_exceed_what_was_captured() -> None:
    """P10: 99 of 100, then 100: the running total stops at what was captured, and never falls."""
    order = STEPS["confirm"](held())
    paid = replace(order.payment, captured_minor=100)
    first = transitions.owe_refund(order, paid, op="x", now_ms=NOW, due_minor=99)
    second = transitions.owe_refund(first, first.payment, op="y", now_ms=NOW, due_minor=199)
    third = transitions.owe_refund(second, second.payment, op="z", now_ms=NOW, due_minor=1)
    assert [o.payment.refund_due_minor for o in (first, second, third)] == [99, 100, 100]


def test_a_parked_order_keeps_status_seats_and_duties_and_comes_back_with_them() -> None:
    """Parking changes the lane only; a redrive puts everything back as it was."""
    order = held()
    parked = transitions.park(order, op="p", now_ms=NOW, error="boom" * 200)
    assert parked.work == (Lane.PARKED, NOW)
    assert (parked.status, parked.seats, parked.duties) == (order.status, order.seats, order.duties)
    again = transitions.redrive(parked, op="d", now_ms=NOW)
    assert again.work == order.work
    assert again.failures == 0
    with pytest.raises(Conflicting):
        transitions.redrive(again, op="d", now_ms=NOW)


def test_a_delayed_order_returns_to_its_old_place() -> None:
    """A delay moves an order to the timer lane, and back to the place that its acceptance gave it."""
    order = make_order()
    away = transitions.fail(order, {Duty.REJOIN: NOW + 10}, op="w", now_ms=NOW, error="It broke.")
    assert away.work == (Lane.TIMER, NOW + 10)
    assert transitions.rejoin(away, op="b", now_ms=NOW + 10).work == order.work


def test_a_seat_without_its_own_code_cannot_be_confirmed() -> None:
    """A confirmation has exactly one ticket code per seat."""
    with pytest.raises(ValueError, match="per seat"):
        transitions.confirm(held(make_order(quantity=2)), held().payment, op="k", now_ms=NOW, tickets=("T",))
