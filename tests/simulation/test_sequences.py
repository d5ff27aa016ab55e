"""Every sequence of news, up to six with repetition: the books command what the order becomes."""

from __future__ import annotations

from collections import Counter

import pytest

from shared.domain.order import PaymentState, Status
from shared.ports.payment import IntentStatus
from tests.simulation.sequences import HOLD_S, LONGEST, Desk, News, play_all, sequences

ALL = sum(5**length for length in range(1, LONGEST + 1))
ends: Counter[str] = Counter()


def check(desk: Desk, sequence: tuple[News, ...]) -> None:
    """Compare where an order ended with what the payment service's books say."""
    order, intent = desk.order, desk.intent
    assert intent is not None, sequence
    kept = intent.captured_minor - intent.refunded_minor
    match intent.status:
        case IntentStatus.SUCCEEDED if order.parked is not None:
            # Paid back by others before any ticket was given: a person decides.
            wanted = order.status is Status.HELD and kept == 0
        case IntentStatus.SUCCEEDED:
            wanted = order.status is Status.CONFIRMED and kept == order.owes_minor and order.work is None
        case IntentStatus.PROCESSING:
            wanted = (order.status, order.payment.state) == (Status.HELD, PaymentState.PROCESSING)
            wanted = wanted and order.work is not None
        case _:
            wanted = order.status is Status.EXPIRED and kept == 0 and intent.status is IntentStatus.CLOSED
            wanted = wanted and order.work is None
    assert wanted, (sequence, order, intent)
    assert desk.payments.captures.get(intent.intent_id, 0) <= 1
    assert not desk.payments.refunds
    ends[f"{intent.status} {order.status}"] += 1


def at_once(desk: Desk, _number: int) -> None:
    """Let a worker look after each event."""
    desk.settle()


def at_the_end(desk: Desk, _number: int) -> None:
    """Let no worker look before everything was said."""


def after_the_hold(desk: Desk, number: int) -> None:
    """Let a worker look after each event, and the hold end in the middle."""
    desk.settle()
    if number == 3:  # in the middle of the longest
        desk.clock.advance(HOLD_S)
        desk.settle()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("after_each", [at_once, at_the_end, after_the_hold])
def test_p2_every_sequence_of_news_ends_as_the_books_command(after_each: object) -> None:
    """All 19,530 of them, with workers that look at once, only at the end, and across the end of the hold."""
    ends.clear()

    assert play_all(after_each, check) == ALL  # type: ignore[arg-type] # one of the three above

    assert set(ends) >= {"succeeded confirmed", "processing held", "closed expired"}
    assert ("succeeded held" in ends) is (after_each is at_the_end)


def test_the_sequences_are_all_there() -> None:
    """5 + 25 + … + 15,625, none twice."""
    every = list(sequences())

    assert len(every) == len(set(every)) == ALL == 19_530
