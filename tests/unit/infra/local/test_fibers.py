"""Jobs that share the loop's thread: where one would stand still, the others go on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from infra.local.fibers import Fibers
from ingest.api import RUSH_PATH
from ingest.parts import make_parts
from ingest.process import build_app
from ingest.sale_cache import SaleCache
from ingest.turn import Turn
from shared.domain.order import Order
from shared.domain.order_id import OrderKey
from shared.observability import make_logger
from shared.payments.charges import check_chargeable
from shared.ports.control import SaleView
from shared.ports.orders import Accepted
from shared.ports.system import Gate, Waiting
from shared.settings import read_settings
from shared.stores.faults import FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from shared.system import THREADS
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client, Reply

T = TypeVar("T")
WITHIN_S = 20
HUNDRED = 100


@pytest.fixture
def fibers() -> Iterator[Fibers]:
    """Return fibers with their thread beside the loop's."""
    fibers = Fibers()
    yield fibers
    fibers.close()


def run_all(fibers: Fibers, *jobs: Callable[[], T]) -> list[T]:
    """Run jobs as fibers of one loop; return what each came to."""

    async def run() -> list[T]:
        return await asyncio.wait_for(asyncio.gather(*(fibers.run(job) for job in jobs)), WITHIN_S)

    return asyncio.run(run())


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

    run_all(fibers, lambda: nap("long", 0.1), lambda: nap("short", 0.0))

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


def test_a_turn_goes_round_among_fibers(fibers: Fibers) -> None:
    """Who has it may wait for the store meanwhile; the others on the same thread wait for the turn."""
    turn = Turn(fibers)
    inside: list[int] = []

    def take(number: int) -> bool:
        with turn:
            inside.append(number)
            fibers.sleep(0)
            alone = inside == [number]
            inside.clear()
            return alone

    assert run_all(fibers, *(lambda n=n: take(n) for n in range(HUNDRED))) == [True] * HUNDRED


def test_a_turn_that_is_not_waited_for_is_refused(fibers: Fibers) -> None:
    """Taken by a fiber that waits, it is free again when that one is done."""
    turn = Turn(fibers)

    def hold() -> bool:
        with turn:
            fibers.sleep(0.01)
            return True

    assert run_all(fibers, hold, lambda: turn.acquire(blocking=False)) == [True, False]
    assert turn.acquire(blocking=False)


class _FarControl:
    """A control store whose answers take a while."""

    def __init__(self, fibers: Fibers) -> None:
        self._fibers = fibers
        self.reads = 0

    def get_sale(self, _: str) -> SaleView:
        self.reads += 1
        self._fibers.sleep(0.01)
        return SaleView(make_sale(), None)


def test_a_hundred_cold_requests_are_one_read(fibers: Fibers) -> None:
    """The one that reads is waited for, although all share its thread."""
    control = _FarControl(fibers)
    cache = SaleCache(control, FakeClock(), fibers)  # type: ignore[arg-type] # one method of the port is all it needs

    views = run_all(fibers, *[lambda: cache.get("gig")] * HUNDRED)

    assert {view.sale.event_id for view in views} == {"gig"}
    assert control.reads == 1


class _Meeting(FaultyStore):
    """Lets all requests stand in the store at the same time before any of them goes on."""

    def __init__(self, inner: SqliteStore, fibers: Fibers) -> None:
        super().__init__(inner, Script({}))
        self._fibers = fibers
        self._gates: list[Gate] = []

    def accept(self, order: Order) -> Accepted:
        self._meet()
        return super().accept(order)

    def get_order(self, key: OrderKey) -> Order | None:
        self._meet()
        return super().get_order(key)

    def _meet(self) -> None:
        gate = self._fibers.gate()
        self._gates.append(gate)
        if len(self._gates) == HUNDRED:
            for one in self._gates:
                one.open()
            self._gates.clear()
        gate.wait()


def test_a_hundred_requests_on_one_thread_are_answered_each_for_itself(fibers: Fibers, tmp_path: Path) -> None:
    """All are in the middle of their request at the same moment; each gets its own order, holder, correlation id."""
    clock = FakeClock()
    store = SqliteStore(tmp_path, clock, waiting=fibers)
    store.create_sale(make_sale())
    logger = make_logger("ingest", read_settings({}))
    door = build_app(
        make_parts(
            _Meeting(store, fibers),
            clock,
            SeededIds(),
            processes=1,
            check_chargeable=check_chargeable,
            logger=logger,
            waiting=fibers,
        )
    )

    # One that is free already must not serve two of them.
    door.prepare(RUSH_PATH, 1)

    buyers = [Client(door, f"buyer-{number}", "buy") for number in range(HUNDRED)]

    def order(number: int) -> Reply:
        body = {"lines": [{"ticket_type_id": "standing", "quantity": 1 + number % 10}], "holder": f"Holder {number}"}
        headers = {"idempotency-key": "same", "x-correlation-id": f"c-{number}"}
        return buyers[number].ask("POST", "/v1/events/gig/orders", body, headers=headers)

    def read(number: int) -> Reply:
        return buyers[number].ask("GET", replies[number].headers["Location"])

    replies = run_all(fibers, *(partial(order, number) for number in range(HUNDRED)))
    reads = run_all(fibers, *(partial(read, number) for number in range(HUNDRED)))

    for number, (placed, seen) in enumerate(zip(replies, reads, strict=True)):
        assert (placed.status, seen.status) == (202, 200)
        assert placed.headers["x-correlation-id"] == f"c-{number}"
        assert placed.json["holder"] == seen.json["holder"] == f"Holder {number}"
        assert placed.json["lines"][0]["quantity"] == 1 + number % 10
    assert len({placed.json["order_id"] for placed in replies}) == HUNDRED
    store.close()


def test_fibers_write_in_groups(fibers: Fibers, tmp_path: Path) -> None:
    """A hundred writes of one thread take far fewer transactions, and those of another thread come along."""
    store = SqliteStore(tmp_path, FakeClock(), waiting=fibers)
    commits: list[str] = []
    store._database._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)

    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(store.accept, make_order(HUNDRED))
        accepted = run_all(fibers, *(lambda n=n: store.accept(make_order(n)) for n in range(HUNDRED)))

    assert [one.created for one in [*accepted, beside.result()]] == [True] * (HUNDRED + 1)
    assert len(commits) < HUNDRED / 10
    store.close()


def test_a_loop_that_ends_in_the_middle_leaves_nobody_waiting(tmp_path: Path) -> None:
    """Fibers whose loop has ended are served all the same, and threads behind them are not held up."""
    fibers = Fibers()
    store = SqliteStore(tmp_path, FakeClock(), waiting=fibers)
    entered, leave = threading.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> None:
        entered.set()
        assert leave.wait(WITHIN_S)

    async def leave_fibers_waiting() -> None:
        for number in range(3):
            task = asyncio.create_task(fibers.run(store.accept, make_order(number)))
            await asyncio.sleep(0)
            task.cancel()

    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(store._database.write, hold)
        assert entered.wait(WITHIN_S)
        asyncio.run(leave_fibers_waiting())
        behind = pool.submit(store.accept, make_order(3))
        leave.set()
        leader.result(WITHIN_S)
        assert behind.result(WITHIN_S).created
    fibers.close()

    assert all(store.get_order(make_order(number).key) is not None for number in range(4))
    store.close()


def test_a_reader_that_shares_its_thread_is_told_at_once_that_the_file_is_busy(tmp_path: Path) -> None:
    """It does not stand still inside SQLite; the caller of a thread of its own may."""
    own = SqliteStore(tmp_path, FakeClock())
    shared = SqliteStore(tmp_path, FakeClock(), waiting=Fibers())

    def timeout_ms(store: SqliteStore) -> int:
        return int(store._database.read(lambda connection: connection.execute("PRAGMA busy_timeout").fetchone()[0]))

    assert timeout_ms(own) > 0
    assert timeout_ms(shared) == 0
    own.close()
    shared.close()
