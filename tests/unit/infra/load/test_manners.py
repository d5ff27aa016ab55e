"""Clients come back when they are told to, and not together."""

from __future__ import annotations

from random import Random

import pytest

from infra.load.manners import Manners


def test_a_told_wait_is_never_cut_short_and_is_spread() -> None:
    """Retry-After is a floor with jitter above it."""
    manners = Manners(Random(1))
    waits = [manners.before_retry_s(4.0) for _ in range(200)]

    assert min(waits) >= 4.0
    assert max(waits) <= 5.0
    assert len(set(waits)) > 190


def test_a_bare_refusal_means_one_to_three_seconds() -> None:
    """Without Retry-After a client waits one to three seconds."""
    manners = Manners(Random(1))
    waits = [manners.before_retry_s(None) for _ in range(200)]

    assert 1.0 <= min(waits) < 1.2
    assert 2.8 < max(waits) <= 3.0


@pytest.mark.parametrize("told", [None, 2.5])
def test_a_poll_waits_as_told(told: float | None) -> None:
    """`poll_after_s` is followed; without one a client still takes its time."""
    wait_s = Manners(Random(1)).before_poll_s(told)

    assert wait_s == told if told else 1.0 <= wait_s <= 3.0


def test_a_rude_bot_hears_nothing() -> None:
    """Whatever it is told, it is back at once."""
    rude = Manners(Random(1), rude=True)

    assert rude.before_retry_s(30.0) < 0.1
    assert rude.before_poll_s(30.0) < 0.5
