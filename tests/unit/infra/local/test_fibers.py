"""Jobs that share the loop's thread: where one would stand still, the others go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from infra.local.fibers import Fibers
from ingest.parts import make_parts
from ingest.process import build_app
from ingest.sale_cache import SaleCache
from ingest.turn import Turn
from shared.domain.order import Order
from shared.observability import make_logger
from shared.payments.charges import check_chargeable
from shared.ports.control import SaleView
from shared.ports.orders import Accepted
from shared.ports.system import Gate
from shared.settings import read_settings
from shared.stores.faults import FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client, Reply

T = TypeVar("T")
WITHIN_S = 20
HUNDRED = 100


@pytest.fixture
def fibers() -> Iterator[Fibers]:
    """Return fibers with two threads beside the loop's."""
    fibers = Fibers(2)
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


def test_what_blocks_is_carried_out_aside(fibers: Fibers) -> None:
    """On another thread, while another fiber runs; its answer and its error come back."""
    meeting = threading.Event()
    here = threading.get_ident()

    def blocked() -> int:
        def job() -> int:
            assert meeting.wait(WITHIN_S)
            return threading.get_ident()

        return fibers.aside(job)

    def meet() -> int:
        meeting.set()
        return here

    def broken() -> int:
        def job() -> int:
            raise ValueError("aside")

        with pytest.raises(ValueError, match="aside"):
            fibers.aside(job)
        return here

    aside, *others = run_all(fibers, blocked, meet, broken)
    assert aside != here
    assert others == [here, here]


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
    entered, ended = threading.Event(), asyncio.Event()

    def job() -> None:
        fibers.aside(lambda: entered.wait(WITHIN_S))
        ended.set()

    async def leave() -> None:
        task = asyncio.create_task(fibers.run(job))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        entered.set()
        await ended.wait()

    asyncio.run(asyncio.wait_for(leave(), WITHIN_S))


def test_a_gate_of_a_loop_that_has_ended_holds_nobody_up(fibers: Fibers) -> None:
    """Who opens it at the end of a process goes on with its own work."""
    gates: list[Gate] = []
    run_all(fibers, lambda: gates.append(fibers.gate()))

    gates[0].open()


def test_a_thread_waits_as_threads_do(fibers: Fibers) -> None:
    """Who is no fiber stands still, and carries out everything itself."""
    gate = fibers.gate()
    threading.Timer(0.05, gate.open).start()
    gate.wait()
    fibers.sleep(0)

    assert fibers.aside(threading.get_ident) == threading.get_ident()


def test_a_turn_goes_round_among_fibers(fibers: Fibers) -> None:
    """Who has it may wait for the store meanwhile; the others on the same thread wait for the turn."""
    turn = Turn(fibers)
    inside: list[int] = []

    def take(number: int) -> bool:
        with turn:
            inside.append(number)
            fibers.aside(lambda: None)
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
    """A control store whose answers come from another thread."""

    def __init__(self, fibers: Fibers) -> None:
        self._fibers = fibers
        self.reads = 0

    def get_sale(self, _: str) -> SaleView:
        self.reads += 1
        return self._fibers.aside(lambda: SaleView(make_sale(), None))


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
        gate = self._fibers.gate()
        self._gates.append(gate)
        if len(self._gates) == HUNDRED:
            for one in self._gates:
                one.open()
        gate.wait()
        return super().accept(order)


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

    def order(number: int) -> Callable[[], Reply]:
        buyer = Client(door, f"buyer-{number}", "buy")
        body = {"lines": [{"ticket_type_id": "standing", "quantity": 1 + number % 10}], "holder": f"Holder {number}"}
        headers = {"idempotency-key": "same", "x-correlation-id": f"c-{number}"}
        return lambda: buyer.ask("POST", "/v1/events/gig/orders", body, headers=headers)

    replies = run_all(fibers, *(order(number) for number in range(HUNDRED)))

    for number, placed in enumerate(replies):
        assert placed.status == 202
        assert placed.headers["x-correlation-id"] == f"c-{number}"
        assert placed.json["holder"] == f"Holder {number}"
        assert placed.json["lines"][0]["quantity"] == 1 + number % 10
    assert len({placed.json["order_id"] for placed in replies}) == HUNDRED
    store.close()


def test_fibers_write_in_groups(fibers: Fibers, tmp_path: Path) -> None:
    """A hundred writes of one thread take far fewer transactions, and one of another thread comes along."""
    store = SqliteStore(tmp_path, FakeClock(), waiting=fibers)
    commits: list[str] = []
    store._database._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)

    accepted = run_all(
        fibers,
        *(lambda n=n: store.accept(make_order(n)) for n in range(HUNDRED)),
        lambda: fibers.aside(lambda: store.accept(make_order(HUNDRED))),
    )

    assert [one.created for one in accepted] == [True] * (HUNDRED + 1)
    assert len(commits) < HUNDRED / 10
    store.close()
