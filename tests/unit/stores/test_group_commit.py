"""Grouped writes: neighbours in one transaction, each with its own fate."""

from __future__ import annotations

import functools
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.domain.errors import AnswerLost, Broken, Contended
from shared.stores.sqlite.group_commit import GroupCommit
from shared.system import ThreadWaiting


def begin(connection: sqlite3.Connection) -> None:
    """Begin at once, in nobody's turn."""
    connection.execute("BEGIN IMMEDIATE")


class Table:
    """A file with one table, written by the group commit under test and read by a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.connection = self.connect(path)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
        self.reader = self.connect(path)
        self.statements: list[str] = []
        self.group = GroupCommit(self.connection, "the file", begin, ThreadWaiting())

    def connect(self, path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)

    def rows(self) -> list[int]:
        return [n for (n,) in self.reader.execute("SELECT n FROM t ORDER BY n")]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Open the table."""
    table = Table(tmp_path / "db")
    yield table
    table.connection.close()
    table.reader.close()


def insert(n: int) -> Callable[[sqlite3.Connection], int]:
    """Write a job that inserts `n` and answers with it."""

    def job(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?)", (n,))
        return n

    return job


def failing(n: int) -> Callable[[sqlite3.Connection], int]:
    """Write a job that inserts `n` and then fails by its own rule."""

    def job(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?)", (n,))
        raise ValueError(f"not {n}")

    return job


def run_as_one_group(
    table: Table, jobs: list[Callable[[sqlite3.Connection], int]], *others: Callable[[], int]
) -> list[Future[int]]:
    """Let a first job hold the lead until all others wait, so that they are carried out together."""
    table.connection.set_trace_callback(table.statements.append)

    leads = threading.Event()

    def wait_for_all(_connection: sqlite3.Connection) -> int:
        leads.set()
        while len(table.group._queue) < len(jobs) + len(others):
            threading.Event().wait(0.001)
        return 0

    with ThreadPoolExecutor(len(jobs) + len(others) + 1) as pool:
        first = pool.submit(table.group.run, wait_for_all)
        assert leads.wait(30)
        answers = [pool.submit(table.group.run, job) for job in jobs]
        answers += [pool.submit(other) for other in others]
        first.result()
    return answers


def test_jobs_that_come_together_share_a_transaction(table: Table) -> None:
    """One commit for all that waited, and each has its own answer."""
    answers = run_as_one_group(table, [insert(n) for n in range(5)])

    assert sorted(answer.result() for answer in answers) == [0, 1, 2, 3, 4]
    assert table.rows() == [0, 1, 2, 3, 4]
    assert table.statements.count("COMMIT") == 2


def test_a_failing_job_does_not_hurt_its_neighbours(table: Table) -> None:
    """Its own writes are undone and its error is its own thread's."""
    answers = run_as_one_group(table, [insert(1), failing(2), insert(3), insert(1), insert(4)])

    errors = [answer.exception() for answer in answers]
    assert isinstance(errors[1], ValueError)
    assert sum(isinstance(error, Broken) for error in errors) == 1
    assert errors.count(None) == 3
    assert table.rows() == [1, 3, 4]


def test_a_lonely_failing_job_leaves_nothing(table: Table) -> None:
    """Alone it is undone as a whole, and the next one goes on."""
    with pytest.raises(ValueError, match="not 1"):
        table.group.run(failing(1))

    assert table.group.run(insert(2)) == 2
    assert table.rows() == [2]


def test_another_programs_lock_is_contention(table: Table) -> None:
    """Nothing was applied, and the same job may be repeated."""
    table.reader.execute("BEGIN IMMEDIATE")
    with pytest.raises(Contended):
        table.group.run(insert(1))
    table.reader.execute("ROLLBACK")

    assert table.group.run(insert(1)) == 1


def test_a_transaction_given_up_by_the_database_fails_for_all(table: Table) -> None:
    """When a job loses the whole transaction, no neighbour is told that its work is done."""

    def give_up(connection: sqlite3.Connection) -> int:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")

    answers = run_as_one_group(table, [insert(1), give_up, insert(2)])

    assert all(answer.exception() is not None for answer in answers)
    assert table.rows() == []


class NoCommit:
    """A connection whose disk fails at the commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.inner = connection

    def execute(self, statement: str) -> object:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self.inner.execute(statement)

    @property
    def in_transaction(self) -> bool:
        return self.inner.in_transaction


def test_a_failed_commit_is_an_answer_lost(table: Table) -> None:
    """Whether it is durable is not known, so the caller is to repeat the same operation."""
    group = GroupCommit(NoCommit(table.connection), "the file", begin, ThreadWaiting())  # type: ignore[arg-type]

    with pytest.raises(AnswerLost):
        group.run(lambda _connection: 1)
    assert not table.connection.in_transaction


def test_an_interrupted_leader_leaves_the_lead_to_others(table: Table) -> None:
    """Ctrl-C in the middle undoes the group; its neighbours are told, and the next job is carried out."""

    def interrupted(_connection: sqlite3.Connection) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.group.run(interrupted)

    assert table.group.run(insert(2)) == 2
    assert table.rows() == [2]


def test_many_threads_all_get_their_own_answers(table: Table) -> None:
    """A rush of jobs is carried out once each."""
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda n: table.group.run(insert(n)), range(500)))

    assert answers == list(range(500))
    assert table.rows() == answers


def test_who_comes_while_the_turn_is_awaited_comes_along(table: Table) -> None:
    """One commit serves all that came while another process had the file."""
    begun: list[int] = []
    asked = threading.Event()

    def begin_late(connection: sqlite3.Connection) -> None:
        begun.append(len(group._queue))
        asked.set()
        while len(group._queue) < 4:
            threading.Event().wait(0.001)
        begin(connection)

    group = GroupCommit(table.connection, "the file", begin_late, ThreadWaiting())
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(group.run, insert(0))
        assert asked.wait(30)
        answers = [first, *(threads.submit(group.run, insert(n)) for n in (1, 2, 3))]
        assert [answer.result(30) for answer in answers] == [0, 1, 2, 3]

    assert begun == [1]
    assert table.rows() == [0, 1, 2, 3]


def test_a_turn_that_does_not_come_is_everybodys_error(table: Table) -> None:
    """Who waited with the one in front is told the same, and the next call begins anew."""
    failures = [Contended()]

    def begin_once_refused(connection: sqlite3.Connection) -> None:
        if failures:
            raise failures.pop()
        begin(connection)

    group = GroupCommit(table.connection, "the file", begin_once_refused, ThreadWaiting())
    with pytest.raises(Contended):
        group.run(insert(1))

    assert group.run(insert(1)) == 1


def insert_all(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[int]:
    """Insert numbers that came together, by one statement, and answer each with how many they were."""
    connection.execute(f"INSERT INTO t VALUES {', '.join('(?)' for _ in numbers)}", numbers)  # noqa: S608 - of a test
    return [len(numbers)] * len(numbers)


def together(table: Table, numbers: Sequence[int], *jobs: Callable[[sqlite3.Connection], int]) -> list[Future[int]]:
    """Let a first job hold the lead until all others wait: first `numbers`, each for `insert_all`, then `jobs`."""
    brought = [functools.partial(table.group.run_together, insert_all, number) for number in numbers]
    return run_as_one_group(table, list(jobs), *brought)


def test_who_bring_the_same_are_served_by_one_call(table: Table) -> None:
    """One statement and one commit for all of them."""
    answers = together(table, range(5))

    assert [answer.result() for answer in answers] == [5] * 5
    assert table.rows() == [0, 1, 2, 3, 4]
    assert sum(statement.startswith("INSERT") for statement in table.statements) == 1


def test_other_jobs_come_along_with_them(table: Table) -> None:
    """In the same transaction, each with its own answer or error."""
    answers = together(table, range(3), insert(7), failing(8))

    assert sorted(answer.result() for answer in answers if answer.exception() is None) == [3, 3, 3, 7]
    assert table.rows() == [0, 1, 2, 7]
    assert table.statements.count("COMMIT") == 2


@pytest.mark.parametrize("jobs", [[], [insert(7)]])
def test_one_that_cannot_be_served_with_others_hurts_none(
    table: Table, jobs: list[Callable[[sqlite3.Connection], int]]
) -> None:
    """All are undone and tried again one by one; only the one that fails by itself is told so."""
    table.group.run(insert(2))

    answers = together(table, range(5), *jobs)

    errors = [answer.exception() for answer in answers]
    assert sum(isinstance(error, Broken) for error in errors) == 1
    assert errors.count(None) == 4 + len(jobs)
    assert table.rows() == [0, 1, 2, 3, 4, *[7] * len(jobs)]
