"""A dead payment service is asked rarely, and found again soon."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from consumers.breaker import FIRST_REST_S, LONGEST_REST_S, TRIPS_AFTER, Breaker, GuardedGateway
from shared.domain.errors import AnswerLost, Broken, Contended, NotFound, OnsaleError, Throttled, Unavailable
from shared.ports.payment import PaymentGateway
from tests.fakes.payment import FakePayments
from tests.fakes.system import FakeClock, SeededIds


@pytest.fixture
def clock() -> FakeClock:
    """Return the breaker's time."""
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    """Return a breaker that has seen nothing."""
    return Breaker(clock, SeededIds(1))


def failing(error: OnsaleError) -> Callable[[], None]:
    """Return a call that fails."""

    def run() -> None:
        raise error

    return run


def trip(breaker: Breaker, error: OnsaleError | None = None) -> None:
    """Let so many calls fail as it takes."""
    for _ in range(TRIPS_AFTER):
        with pytest.raises(Unavailable):
            breaker.call(failing(error or Unavailable()))


def test_a_few_failures_stop_nobody(breaker: Breaker) -> None:
    """Fewer than it takes, with an answer between: every call gets through."""
    for _ in range(3):
        for _ in range(TRIPS_AFTER - 1):
            with pytest.raises(Unavailable):
                breaker.call(failing(AnswerLost()))
        assert breaker.call(lambda: "here") == "here"

    assert not breaker.is_open


def test_a_dead_service_is_not_asked(breaker: Breaker) -> None:
    """After so many failures in a row calls are refused without being made."""
    trip(breaker)

    calls: list[int] = []
    with pytest.raises(Unavailable):
        breaker.call(lambda: calls.append(1))

    assert breaker.is_open
    assert not calls


def test_one_call_looks_whether_it_is_back(breaker: Breaker, clock: FakeClock) -> None:
    """After the rest one call goes through, while it lasts no other does, and its answer opens the way."""
    trip(breaker)
    clock.advance(2 * FIRST_REST_S)

    def probe() -> str:
        with pytest.raises(Unavailable, match="asked again"):
            breaker.call(lambda: "second")
        return "first"

    assert breaker.call(probe) == "first"
    assert breaker.call(lambda: "third") == "third"
    assert not breaker.is_open


def test_rests_grow_up_to_a_bound(breaker: Breaker, clock: FakeClock) -> None:
    """Each look in vain doubles the rest; a service that comes back is found within the longest, jitter included."""
    trip(breaker)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        raise Unavailable

    for _ in range(600):
        with pytest.raises(Unavailable):
            breaker.call(look)
        clock.advance(1)

    assert 600 / (1.5 * LONGEST_REST_S + 1) <= looks <= 100
    clock.advance(1.5 * LONGEST_REST_S)
    assert breaker.call(lambda: 1) == 1


def test_failures_that_end_during_a_rest_do_not_lengthen_it(breaker: Breaker, clock: FakeClock) -> None:
    """Sixteen threads that fail at once are one outage."""
    entered, fail = threading.Barrier(TRIPS_AFTER + 9), threading.Event()

    def hang() -> None:
        entered.wait(10)
        fail.wait(10)
        raise Unavailable

    def call() -> None:
        with pytest.raises(Unavailable):
            breaker.call(hang)

    threads = [threading.Thread(target=call) for _ in range(TRIPS_AFTER + 8)]
    for thread in threads:
        thread.start()
    entered.wait(10)
    fail.set()
    for thread in threads:
        thread.join(10)
    clock.advance(1.5 * FIRST_REST_S)

    assert breaker.call(lambda: 1) == 1


@pytest.mark.parametrize("error", [Throttled(), Contended(), NotFound(), Broken()])
def test_what_answers_is_there(breaker: Breaker, error: OnsaleError) -> None:
    """A service that asks for less, refuses or is wrong is not dead."""
    for _ in range(2 * TRIPS_AFTER):
        with pytest.raises(type(error)):
            breaker.call(failing(error))

    assert not breaker.is_open


def test_every_call_of_the_port_is_guarded(clock: FakeClock) -> None:
    """A tripped breaker refuses each method of the gateway."""
    breaker = Breaker(clock, SeededIds(1))
    trip(breaker)
    gateway: PaymentGateway = GuardedGateway(FakePayments(clock), breaker)

    with pytest.raises(Unavailable):
        gateway.list_intents(cursor=None, limit=1)
    with pytest.raises(Unavailable):
        gateway.fetch("pi_1")
