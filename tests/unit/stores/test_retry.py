"""Repeating calls: what is repeated, how long is waited, and when it ends."""

from __future__ import annotations

import pytest

from shared.domain.errors import AnswerLost, Broken, Contended, Invalid, OnsaleError, Throttled, Unavailable
from shared.retry import Attempt, Budgets, Finished, Retrier, RetryPolicy
from tests.fakes.system import FakeClock, SeededIds


class Ward:
    """A retrier whose waits are noted, over calls that fail as they are told."""

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self.clock = FakeClock()
        self.waits: list[float] = []
        self.attempts: list[Attempt] = []
        self.retrier = Retrier(
            self.clock, SeededIds(1), self.wait, policy=policy or RetryPolicy(), observe=self.attempts.append
        )

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)

    def call(self, *failures: OnsaleError, place: str = "gig#1") -> str:
        left = list(failures)

        def run() -> str:
            if left:
                raise left.pop(0)
            return "done"

        return self.retrier.call("save", place, run)


def test_a_call_that_succeeds_is_made_once() -> None:
    """It waits for nothing and is told as one attempt."""
    ward = Ward()

    assert ward.call() == "done"
    assert ward.waits == []
    assert ward.attempts == [Attempt("save", "gig#1", 1, "ok")]


def test_what_is_unavailable_is_repeated_and_told() -> None:
    """Every attempt is seen with its outcome, and a throttle with its own word for the reason."""
    ward = Ward()

    assert ward.call(Throttled(reason="TableWriteKeyRangeThroughputExceeded"), Contended(), AnswerLost()) == "done"

    assert [(attempt.number, attempt.outcome, attempt.reason) for attempt in ward.attempts] == [
        (1, "throttled", "TableWriteKeyRangeThroughputExceeded"),
        (2, "contended", ""),
        (3, "answer-lost", ""),
        (4, "ok", ""),
    ]
    assert len(ward.waits) == 3


@pytest.mark.parametrize("error", [Invalid("no"), Broken("no")])
def test_what_will_not_change_is_not_repeated(error: OnsaleError) -> None:
    """Refused and Broken go up at once, and are told."""
    ward = Ward()

    with pytest.raises(type(error)):
        ward.call(error)
    assert [attempt.outcome for attempt in ward.attempts] == [error.code]


def test_waits_grow_up_to_a_cap_and_are_jittered() -> None:
    """Each lies between nothing and its bound, and they are not all alike."""
    ward = Ward(RetryPolicy(base_s=1, cap_s=4, deadline_s=1_000))
    ward.call(*[Contended() for _ in range(8)])

    bounds = [1, 2, 4, 4, 4, 4, 4, 4]
    assert all(0 <= wait <= bound for wait, bound in zip(ward.waits, bounds, strict=True))
    assert len(set(ward.waits)) == 8
    assert max(ward.waits) > 1


def test_a_wait_that_is_asked_for_is_kept() -> None:
    """Whoever says when to come again is not asked earlier."""
    ward = Ward()
    ward.call(Unavailable(retry_after_s=3))

    assert ward.waits == [3]


@pytest.mark.parametrize(("error", "tries"), [(Throttled, 6), (Contended, 10), (AnswerLost, 5), (Unavailable, 4)])
def test_each_reason_has_its_own_limit(error: type[Unavailable], tries: int) -> None:
    """The last error goes up as it is."""
    ward = Ward(RetryPolicy(deadline_s=1_000))
    errors = [error(f"number {number}") for number in range(tries + 1)]

    with pytest.raises(error, match=f"number {tries - 1}"):
        ward.call(*errors)
    assert len(ward.attempts) == tries


def test_a_call_ends_before_its_deadline() -> None:
    """It is not waited for what would come too late."""
    ward = Ward(RetryPolicy(base_s=2, cap_s=2, deadline_s=5, tries={"contended": 1_000}))
    began = ward.clock.monotonic_s()

    with pytest.raises(Contended):
        ward.call(*[Contended() for _ in range(1_000)])
    assert ward.clock.monotonic_s() - began <= 5


def test_a_place_in_trouble_uses_up_its_own_budget_only() -> None:
    """When one shard has no retry left, another still has all of its own."""
    ward = Ward(RetryPolicy(budget=3, refill_per_s=0, refill_per_success=0))

    with pytest.raises(Contended):
        ward.call(*[Contended() for _ in range(9)], place="hot")
    with pytest.raises(Contended):
        ward.call(Contended(), place="hot")
    assert len(ward.attempts) == 4 + 1

    assert ward.call(*[Contended() for _ in range(3)], place="cold") == "done"
    assert ward.call(place="hot") == "done"


def test_a_budget_fills_with_time_and_success() -> None:
    """Up to its full size and no further."""
    clock = FakeClock()
    budgets = Budgets(RetryPolicy(budget=2, refill_per_s=0.5, refill_per_success=0.25), clock)

    def taken() -> int:
        return sum(budgets.take("p") for _ in range(5))

    assert taken() == 2
    clock.advance(2)
    assert taken() == 1
    for _ in range(4):
        budgets.succeeded("p")
    assert taken() == 1
    clock.advance(1_000)
    for _ in range(100):
        budgets.succeeded("p")
    assert taken() == 2


def test_places_that_are_well_are_forgotten() -> None:
    """Only those in trouble take memory."""
    clock = FakeClock()
    budgets = Budgets(RetryPolicy(budget=2, refill_per_s=1), clock)
    budgets.take("p")
    assert list(budgets._left) == ["p"]

    clock.advance(2)
    budgets.succeeded("p")
    assert not budgets._left


def test_a_finished_call_tells_its_first_attempt_from_the_rest() -> None:
    """Pauses and repeats count as what came after; the last outcome is the call's."""
    clock, told = FakeClock(), list[Finished]()
    retrier = Retrier(clock, SeededIds(1), clock.advance, finished=told.append)
    left = [Throttled(), Contended()]

    def run() -> str:
        clock.advance(0.25)
        if left:
            raise left.pop(0)
        return "done"

    began_s = clock.monotonic_s()
    retrier.call("accept", "gig#1", run)
    with pytest.raises(Invalid):
        retrier.call("accept", "gig#1", lambda: (_ for _ in ()).throw(Invalid()))

    first, second = told
    assert (first.attempts, first.first_s, first.outcome) == (3, 0.25, "ok")
    assert first.retrying_s == pytest.approx(clock.monotonic_s() - began_s - 0.25)
    assert (second.attempts, second.retrying_s, second.outcome) == (1, 0.0, "invalid")
