"""Whole nights in virtual time: no promise breaks, and a planted fault is always found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shared.domain.order import Order
from shared.domain.stats.window import WindowStats
from tests.simulation.night import Night
from tests.simulation.plan import NightPlan, plan_night
from tests.simulation.planted import AcceptWithoutLooking, ReleaseWithoutStateCheck, SaveWithoutCondition, planted
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


def first_failure(make: Callable[[NightPlan], Night]) -> str:
    """Return what is first found to go wrong; fail when nothing is."""
    found = (play(plan_night(seed), make)[1] for seed in range(PATIENCE))
    message = next((message for message in found if message is not None), None)
    assert message is not None, f"not found in {PATIENCE} nights"
    return message
