"""Who leads a group: callers who may stand still, and a thread in the place of those who may not."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.stores.sqlite.group_commit import MAX_GROUP, GroupCommit
from shared.system import ThreadGate, ThreadWaiting

WITHIN_S = 30


class _Waiting(ThreadWaiting):
    """Lets those who call themselves `shared` never lead; jobs are put off until somebody hurries."""

    def __init__(self) -> None:
        self.shared = threading.local()
        self.put_off: list[Callable[[], object]] = []
        self.asked = threading.Semaphore(0)

    def may_block(self) -> bool:
        return not getattr(self.shared, "yes", False)

    def gate(self) -> ThreadGate:
        self.asked.release()
        return ThreadGate()

    def start(self, job: Callable[[], object]) -> None:
        self.put_off.append(job)

    def hurry(self) -> None:
        while self.put_off:
            super().start(self.put_off.pop())


class House:
    """A group commit whose first group can be held up."""

    def __init__(self, path: Path) -> None:
        self.waiting = _Waiting()
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        self.connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
        self.group = GroupCommit(self.connection, "the file", self._begin, self.waiting)
        self.begun = 0

    def _begin(self, connection: sqlite3.Connection) -> None:
        self.begun += 1
        connection.execute("BEGIN IMMEDIATE")

    def insert(self, n: int, *, shared: bool = False) -> int:
        self.waiting.shared.yes = shared

        def job(connection: sqlite3.Connection) -> int:
            connection.execute("INSERT INTO t VALUES (?)", (n,))
            return n

        return self.group.run(job)

    def rows(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM t").fetchone()[0])

    def wait_for_callers(self, count: int) -> None:
        """Return when so many callers stand in the queue."""
        for _ in range(count):
            assert self.waiting.asked.acquire(timeout=WITHIN_S)
        while len(self.group._queue) < count:
            threading.Event().wait(0.001)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Open a file with one table."""
    house = House(tmp_path / "db")
    yield house
    house.connection.close()


def test_a_job_for_those_who_cannot_lead_serves_all_who_came_meanwhile(house: House) -> None:
    """Put off, it finds more of them; one group is enough."""
    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(house.insert, n, shared=True) for n in range(9)]
        house.wait_for_callers(9)
        assert len(house.waiting.put_off) == 1
        house.waiting.hurry()

        assert [answer.result(WITHIN_S) for answer in answers] == list(range(9))
    assert (house.rows(), house.begun) == (9, 1)


def test_a_thread_waits_for_no_job_that_is_put_off(house: House) -> None:
    """What was to serve those before it begins with its coming: whoever puts off may never have another turn."""
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(house.insert, 1, shared=True)
        house.wait_for_callers(1)
        second = pool.submit(house.insert, 2)

        assert (first.result(WITHIN_S), second.result(WITHIN_S)) == (1, 2)
    assert house.waiting.put_off == []


def test_a_thread_behind_more_than_a_group_leads_until_its_own_job_is_done(house: House) -> None:
    """It is given the lead although others stand before it, and no job is put off while it is there."""
    many = 2 * MAX_GROUP + 9
    held, leave = threading.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> None:
        held.set()
        assert leave.wait(WITHIN_S)

    with ThreadPoolExecutor(many + 2) as pool:
        leader = pool.submit(house.group.run, hold)
        assert held.wait(WITHIN_S)
        before = [pool.submit(house.insert, n, shared=True) for n in range(many)]
        house.waiting.asked.acquire(timeout=WITHIN_S)
        house.wait_for_callers(many)
        behind = pool.submit(house.insert, many)
        house.wait_for_callers(1)
        while len(house.group._queue) <= many:
            threading.Event().wait(0.001)
        leave.set()

        leader.result(WITHIN_S)
        assert behind.result(WITHIN_S) == many
        assert [answer.result(WITHIN_S) for answer in before] == list(range(many))
    assert (house.rows(), house.begun, house.waiting.put_off) == (many + 1, 4, [])
