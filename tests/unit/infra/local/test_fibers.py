"""Jobs that share the loop's thread: where one would stand still, the others go on."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from greenlet import getcurrent

import infra.local.fibers as fibers_module
from infra.local.fibers import Fibers
from shared.ports.system import Gate, Waiting
from shared.system import THREADS
from tests.unit.infra.local.fibers_at_once import HUNDRED, WITHIN_S, run_all


def test_a_job_that_never_waits_runs_here_and_now(fibers: Fibers) -> None:
    """On the caller's own thread, with its arguments."""
    here = threading.get_ident()

    assert run_all(fibers, lambda: (threading.get_ident(), 1)) == [(here, 1)]
    assert asyncio.run(fibers.run(lambda a, b: a + b, 1, 2)) == 3


def test_an_error_is_the_callers(fibers: Fibers) -> None:
    """Before and after a wait."""

    def fail_later() -> None:
        fibers.sleep(0)
        raise ValueError("later")

    def fail() -> None:
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        run_all(fibers, fail)
    with pytest.raises(ValueError, match="later"):
        run_all(fibers, fail_later)
    # An error that means something to coroutines is none the less an error.
    with pytest.raises(RuntimeError, match="StopIteration"):
        run_all(fibers, lambda: next(iter(())))


def test_one_that_waits_lets_the_others_go_on(fibers: Fibers) -> None:
    """The second opens the gate before which the first stands, on the same thread."""
    gates: list[Gate] = []
    here = threading.get_ident()

    def first() -> int:
        gates.append(fibers.gate())
        gates[0].wait()
        return threading.get_ident()

    def second() -> int:
        gates[0].open()
        return threading.get_ident()

    assert run_all(fibers, first, second) == [here, here]


def test_a_gate_opened_before_anybody_waits_is_open(fibers: Fibers) -> None:
    """And what it left behind in the loop wakes nobody at another gate."""

    def job() -> str:
        early, late = fibers.gate(), fibers.gate()
        early.open()
        early.wait()
        threading.Timer(0.05, late.open).start()
        late.wait()
        return "through"

    assert run_all(fibers, job) == ["through"]


def test_a_job_that_is_started_is_waited_for_by_nobody(fibers: Fibers) -> None:
    """It runs on another thread, one after another, while fibers go on."""
    here, threads = threading.get_ident(), set()
    meeting = threading.Event()

    def start() -> None:
        fibers.start(lambda: meeting.wait(WITHIN_S))
        fibers.start(lambda: threads.add(threading.get_ident()))

    run_all(fibers, start, meeting.set)
    fibers.close()

    assert len(threads) == 1
    assert here not in threads


def test_a_fiber_that_sleeps_stops_nobody(fibers: Fibers) -> None:
    """Who sleeps less is done first."""
    done: list[str] = []

    def nap(name: str, seconds: float) -> None:
        fibers.sleep(seconds)
        done.append(name)

    run_all(fibers, lambda: nap("long", 1.0), lambda: nap("short", 0.0))

    assert done == ["short", "long"]


def test_a_job_ends_although_nobody_waits_for_it(fibers: Fibers) -> None:
    """A sender who goes away does not leave a write half done."""
    gates: list[Gate] = []
    ended = asyncio.Event()

    def job() -> None:
        gates.append(fibers.gate())
        gates[0].wait()
        ended.set()

    async def leave() -> None:
        task = asyncio.create_task(fibers.run(job))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gates[0].open()
        await ended.wait()

    asyncio.run(asyncio.wait_for(leave(), WITHIN_S))


def test_a_fiber_is_used_again(fibers: Fibers) -> None:
    """One after another needs one fiber, also after an error; five at once need five."""
    seen: list[object] = []

    def fail() -> None:
        seen.append(getcurrent())
        raise LookupError

    async def one_after_another() -> None:
        with pytest.raises(LookupError):
            await fibers.run(fail)
        for _ in range(9):
            await fibers.run(lambda: seen.append(getcurrent()))
        assert len(set(seen)) == 1
        gates: list[Gate] = []

        def meet() -> None:
            seen.append(getcurrent())
            gates.append(gate := fibers.gate())
            if len(gates) == 5:
                for one in gates:
                    one.open()
            gate.wait()

        await asyncio.gather(*(fibers.run(meet) for _ in range(5)))

    asyncio.run(one_after_another())

    assert len(set(seen)) == 5


def test_another_loop_has_fibers_of_its_own(fibers: Fibers) -> None:
    """A fiber cannot go on upon another thread."""
    run_all(fibers, *[lambda: None] * 3)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run_all, fibers, lambda: "there").result(WITHIN_S) == ["there"]
    assert run_all(fibers, lambda: "here") == ["here"]


def test_a_job_is_put_off_while_new_fibers_begin(fibers: Fibers, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins in the first turn of the loop in which no fiber began, so that it can serve all of them."""
    monkeypatch.setattr(fibers_module, "PUT_OFF_S", WITHIN_S)
    begun: list[int] = []
    seen: list[int] = []

    async def one_a_turn() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def job() -> None:
            seen.append(len(begun))
            loop.call_soon_threadsafe(done.set)

        await fibers.run(fibers.start, job)
        for number in range(HUNDRED):
            await fibers.run(begun.append, number)
            await asyncio.sleep(0)
            assert seen == []
        await done.wait()

    asyncio.run(asyncio.wait_for(one_a_turn(), WITHIN_S))

    assert seen == [HUNDRED]


def test_a_job_is_put_off_for_some_milliseconds_at_most(fibers: Fibers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fibers that never cease to come do not keep it waiting."""
    monkeypatch.setattr(fibers_module, "PUT_OFF_S", 0.0)
    done = threading.Event()

    async def one_a_turn() -> None:
        await fibers.run(fibers.start, done.set)
        while not done.is_set():
            await fibers.run(lambda: None)
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(one_a_turn(), WITHIN_S))


@pytest.mark.parametrize("who", ["a thread", "another loop", "the end"])
def test_whoever_comes_after_a_loop_has_ended_has_put_off_jobs_begin(who: str, fibers: Fibers) -> None:
    """A job that waited for a quiet turn of a loop without further turns is not lost."""
    done = threading.Event()

    async def end_at_once() -> None:
        await fibers.run(fibers.start, done.set)

    asyncio.run(end_at_once())
    if who == "a thread":
        fibers.hurry()
    elif who == "another loop":
        run_all(fibers, lambda: None)
    else:
        fibers.close()

    assert done.wait(WITHIN_S)


def test_without_a_loop_nothing_is_put_off(fibers: Fibers) -> None:
    """Before the first one, and after the last one has ended."""
    before, after = threading.Event(), threading.Event()

    fibers.start(before.set)
    assert before.wait(WITHIN_S)
    run_all(fibers, lambda: None)
    fibers.start(after.set)
    assert after.wait(WITHIN_S)


def test_a_fiber_waits_for_a_coroutine(fibers: Fibers) -> None:
    """Its answer and its error are the fiber's; another fiber goes on meanwhile."""
    opened = asyncio.Event()

    async def wait() -> str:
        await opened.wait()
        return "opened"

    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError

    def expect() -> str:
        with pytest.raises(LookupError):
            fibers.outcome(fail())
        return "failed"

    assert run_all(fibers, lambda: fibers.outcome(wait()), expect, opened.set) == ["opened", "failed", None]


def test_a_gate_of_a_loop_that_has_ended_holds_nobody_up(fibers: Fibers) -> None:
    """Who opens it at the end of a process goes on with its own work."""
    gates: list[Gate] = []
    run_all(fibers, lambda: gates.append(fibers.gate()))

    gates[0].open()


@pytest.mark.parametrize("how", ["threads", "fibers"])
def test_a_thread_waits_as_threads_do(how: str, fibers: Fibers) -> None:
    """Who is no fiber stands still, and what it starts is carried out by another thread."""
    waiting: Waiting = THREADS if how == "threads" else fibers
    gate, done = waiting.gate(), threading.Event()
    starters: list[int] = []

    def job() -> None:
        starters.append(threading.get_ident())
        gate.open()
        done.set()

    waiting.start(job)
    gate.wait()
    waiting.sleep(0)

    assert done.wait(WITHIN_S)
    assert starters != [threading.get_ident()]
    assert waiting.may_block()
    assert run_all(fibers, fibers.may_block) == [False]
