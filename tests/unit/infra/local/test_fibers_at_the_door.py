"""What waits by fibers: turns, the cache of sales, the whole door, and the store's commits."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

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
from shared.ports.system import Gate
from shared.settings import read_settings
from shared.stores.faults import FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.infra.local.fibers_at_once import HUNDRED, WITHIN_S, run_all
from tests.unit.ingest.client import Client, Reply


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
