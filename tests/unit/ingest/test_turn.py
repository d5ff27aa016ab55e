"""One at a time among threads; among fibers see the local server's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest.turn import Turn
from shared.system import ThreadWaiting


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let the interpreter turn from thread to thread as often as it can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_threads_take_turns() -> None:
    """Nobody is let in beside another, nobody waits for good, and giving back never fails."""
    turn = Turn(ThreadWaiting())
    inside: list[int] = []

    def take(number: int) -> int:
        alone = 0
        for _ in range(2_000):
            with turn:
                inside.append(number)
                alone += inside == [number]
                inside.clear()
        return alone

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(take, range(8))) == [2_000] * 8


def test_two_who_give_back_at_once_wake_everybody() -> None:
    """Another one may empty the queue between a look at it and a hand into it."""
    turn = Turn(ThreadWaiting())

    class Emptied(type(turn._before)):  # type: ignore[misc] # the very queue, seen full once more than it is
        def __bool__(self) -> bool:
            return True

    turn._before = Emptied()
    assert turn.acquire()
    turn.release()

    assert turn.acquire(blocking=False)


def test_a_turn_that_is_taken_is_refused_to_who_will_not_wait() -> None:
    """And free again once it is given back."""
    turn = Turn(ThreadWaiting())
    with turn:
        assert not turn.acquire(blocking=False)

    assert turn.acquire(blocking=False)
