"""Whole nights in virtual time: no promise breaks, and a planted fault is always found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shared.domain.order import Order
from tests.simulation.night import Night
from tests.simulation.plan import NightPlan
from tests.simulation.planted import AcceptWithoutLooking, ReleaseWithoutStateCheck, SaveWithoutCondition, planted
from tests.simulation.run import Failure, run_seed

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
    assert first_failure(planted(wrapper)).message


@pytest.mark.timeout(240)
def test_seats_freed_before_the_payment_service_was_asked_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that gives held seats back without closing the intent first is found out."""
    monkeypatch.setattr(Order, "must_ask_before_release", property(lambda _: False))
    assert first_failure(Night).message.startswith("I4")


@pytest.mark.timeout(240)
def test_a_slice_that_keeps_what_it_cannot_use_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that does not give its spare seats back leaves an order waiting that fits."""
    monkeypatch.setattr("consumers.allocation.allocate.give_back_idle", lambda *_: None)
    assert first_failure(Night).message.startswith("I6")


def first_failure(make: Callable[[NightPlan], Night]) -> Failure:
    """Return the first night that goes wrong; fail when none does."""
    failures = (run_seed(seed, make)[1] for seed in range(PATIENCE))
    failure = next((failure for failure in failures if failure is not None), None)
    assert failure is not None, f"not found in {PATIENCE} nights"
    return failure
