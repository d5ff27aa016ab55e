"""Whole nights in virtual time: no promise breaks, and a planted fault is always found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from consumers.settlement.intents import find_intent
from consumers.settlement.outcome import Outcome, Step
from consumers.tools import Tools
from shared.domain.order import Order, PaymentState
from shared.domain.order_id import OrderKey
from shared.domain.orphan import make_orphan
from shared.domain.stats.window import WindowStats
from shared.domain.transitions import look_now, note_payment
from shared.ports.payment import Intent, IntentStatus, PaymentGateway
from tests.fakes.payment import FakePayments
from tests.simulation.night import Night
from tests.simulation.plan import NightPlan, plan_night
from tests.simulation.planted import (
    AcceptWithoutLooking,
    ChargesEachTime,
    PaysBackTwice,
    ReleaseWithoutStateCheck,
    SaveWithoutCondition,
    planted,
    planted_payments,
)
from tests.simulation.run import play, run_seed

SEEDS = 200
# A planted fault must show within as many nights.
PATIENCE = 200


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
@pytest.mark.timeout(240)
def test_no_promise_breaks_in_any_night(first: int) -> None:
    """Whatever the weather, every order ends, every seat is sold once, and money and tickets agree."""
    for seed in range(first, first + 20):
        _, failure = run_seed(seed)
        assert failure is None, str(failure)


def test_a_pause_that_comes_after_its_resume_does_not_last() -> None:
    """Held up on its way, it left a sale standing still, with an order that fitted waiting in it."""
    night, failure = run_seed(30_226)

    assert failure is None, str(failure)
    assert [line for line in night.trace if "pause all" in line]


def test_one_seed_is_one_exact_run() -> None:
    """The same seed gives the same night, to the last line of its trace."""
    assert run_seed(3)[0].trace == run_seed(3)[0].trace


@pytest.mark.parametrize("wrapper", [SaveWithoutCondition, ReleaseWithoutStateCheck, AcceptWithoutLooking])
@pytest.mark.timeout(240)
def test_a_dropped_condition_is_found(wrapper: type) -> None:
    """A store that writes without its condition breaks a promise within a few nights."""
    assert first_failure(planted(wrapper))


@pytest.mark.timeout(240)
def test_seats_freed_before_the_payment_service_was_asked_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that gives held seats back without closing the intent first is found out."""
    monkeypatch.setattr(Order, "must_ask_before_release", property(lambda _: False))
    assert first_failure(Night).startswith("I4")


@pytest.mark.timeout(240)
def test_a_slice_that_keeps_what_it_cannot_use_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that does not give its spare seats back leaves an order waiting that fits."""
    monkeypatch.setattr("consumers.allocation.allocate.give_back_idle", lambda *_: None)
    assert first_failure(Night).startswith("I6")


@pytest.mark.timeout(240)
def test_tombstones_left_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders that leave the line without closing their older homes let one key be held twice."""
    for room in ("holding", "orders"):
        monkeypatch.setattr(f"shared.stores.sqlite.{room}.close", lambda *_: None)
    assert first_failure(Night).startswith("I3")


@pytest.mark.timeout(240)
def test_older_homes_not_looked_at_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders that leave the line though another one stands at their older home let one key be held twice."""
    for room in ("holding", "orders"):
        monkeypatch.setattr(f"shared.stores.sqlite.{room}.standing", lambda *_: None)
    assert first_failure(Night).startswith("I3")


@pytest.mark.timeout(240)
def test_stream_records_counted_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that forgets what it counted does not add up to the stored orders."""
    monkeypatch.setattr(WindowStats, "is_new", lambda *_: True)
    assert first_failure(Night).startswith("I5")


@pytest.mark.parametrize("kind", [PaysBackTwice, ChargesEachTime])
@pytest.mark.timeout(240)
def test_money_that_moves_twice_is_found(kind: type[FakePayments], monkeypatch: pytest.MonkeyPatch) -> None:
    """A payment service that carries out a repeated refund, or a repeated charge, breaks I4."""
    # The worker that asks before it charges would never meet the second fault.
    monkeypatch.setattr("consumers.settlement.settle.find_intent", find_as_open)
    assert first_failure(planted_payments(kind)).startswith("I4")


@pytest.mark.timeout(240)
def test_news_that_wipes_out_other_duties_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A door that writes "look now" over a hold's end or a refund leaves an order, or money, for ever."""

    def only_look(order: Order, *, op: str, now_ms: int) -> Order:
        return look_now(replace(order, duties={}), op=op, now_ms=now_ms)

    monkeypatch.setattr("ingest.note_payment.look_now", only_look)
    assert first_failure(Night)[:2] in {"I2", "I4"}


@pytest.mark.timeout(240)
def test_orphans_that_nobody_works_on_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in without its duty keeps the money that came for nobody."""

    def idle(key: OrderKey, **rest: Any) -> Order:  # noqa: ANN401 - as the real one takes them
        return replace(make_orphan(key, **rest), duties={})

    for room in ("ingest.note_payment", "consumers.reconcile.walk"):
        monkeypatch.setattr(f"{room}.make_orphan", idle)
    assert first_failure(Night).startswith("I4")


@pytest.mark.timeout(240)
def test_refunds_that_are_noted_before_they_are_made_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refund that is taken for done without asking the payment service keeps the buyer's money."""

    def hasty(tools: Tools, order: Order) -> Step:
        payment = replace(order.payment, refunded_minor=order.payment.refund_due_minor)
        noted = note_payment(order, payment, {}, op=tools.ids.op_id(), now_ms=tools.clock.now_ms())
        return Step(noted, Outcome.REFUNDED)

    monkeypatch.setattr("consumers.settlement.aftermath._refund", hasty)
    assert first_failure(Night).startswith("I4")


def find_as_open(gateway: PaymentGateway, order: Order) -> Intent:
    """Find an order's payment, and take one that succeeded for one that may still be tried."""
    intent = find_intent(gateway, order)
    paid = intent.status is IntentStatus.SUCCEEDED and order.payment.state is not PaymentState.OPEN
    return replace(intent, status=IntentStatus.OPEN) if paid else intent


def first_failure(make: Callable[[NightPlan], Night]) -> str:
    """Return what is first found to go wrong; fail when nothing is."""
    found = (play(plan_night(seed), make)[1] for seed in range(PATIENCE))
    message = next((message for message in found if message is not None), None)
    assert message is not None, f"not found in {PATIENCE} nights"
    return message
