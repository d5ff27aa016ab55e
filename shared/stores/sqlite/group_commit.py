"""Durable writes, grouped: threads that write at the same time share one transaction and one sync of the disk.

There is no writer thread. The first thread that comes leads: it carries out what has gathered, its own job among it,
commits, wakes the others and hands the lead to whoever came meanwhile. A thread alone pays for no hand-over.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar, cast

from shared.domain.errors import AnswerLost, Unavailable
from shared.stores.sqlite.errors import translate

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[sqlite3.Connection], Any]

T = TypeVar("T")

# Jobs in one transaction. More would save little of the sync and lengthen what other processes wait for.
MAX_GROUP = 128


class _Ticket:
    """One waiting job; `gate` opens when it is done or when its thread is to lead."""

    __slots__ = ("done", "error", "gate", "job", "value")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.gate = threading.Lock()
        self.gate.acquire()


class GroupCommit:
    """The one writer of this process over `connection` (autocommit mode, shared between threads)."""

    def __init__(self, connection: sqlite3.Connection, place: str, begin: Callable[[sqlite3.Connection], None]) -> None:
        """Write through `connection`; `place` names the file in errors, `begin` waits for this process's turn."""
        self._connection = connection
        self._begin = begin
        self._place = place
        self._mutex = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._led = False
        # Held while the connection is in use: a store in memory reads through the same one.
        self.turn = threading.Lock()
        self.jobs_done = 0

    def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Carry out `job` in a transaction and return its answer once that is durable.

        An error raised by `job` undoes this job alone.
        """
        ticket = _Ticket(job)
        with self._mutex:
            self._waiting.append(ticket)
            leads = not self._led
            self._led = True
        try:
            if not leads:
                ticket.gate.acquire()
            if not ticket.done:
                self._lead(ticket)
        except BaseException:
            self._abandon(ticket, leads=leads)
            raise
        if ticket.error is not None:
            raise ticket.error
        return cast("T", ticket.value)

    def _lead(self, own: _Ticket) -> None:
        group: list[_Ticket] = []
        try:
            with self.turn:
                self._carry_out(group)
        finally:
            for ticket in group:
                ticket.done = True
                if ticket is not own:
                    ticket.gate.release()
            with self._mutex:
                self._hand_over()

    def _hand_over(self) -> None:
        self._led = bool(self._waiting)
        if self._led:
            self._waiting[0].gate.release()

    def _abandon(self, ticket: _Ticket, *, leads: bool) -> None:
        """Take the job of an interrupted thread out of the queue, so that nobody waits for its lead."""
        with self._mutex:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                if leads or not ticket.gate.locked():
                    self._hand_over()

    def _carry_out(self, group: list[_Ticket]) -> None:
        """Gather a group and run it in one transaction; what goes wrong with all of it becomes every ticket's error."""
        try:
            self._transaction(group)
            self.jobs_done += len(group)
        except (sqlite3.Error, Unavailable) as error:
            self._undo(group, error)
        except BaseException:
            self._undo(group, AnswerLost())
            raise

    def _transaction(self, group: list[_Ticket]) -> None:
        execute = self._connection.execute
        try:
            self._begin(self._connection)
        finally:
            # Not before: another process's commit may take long, and who came meanwhile comes along.
            self._gather(group)
        if len(group) == 1:
            # Alone, a job needs no savepoint of its own.
            self._attempt(group[0], undo="ROLLBACK")
        else:
            for ticket in group:
                execute("SAVEPOINT job")
                self._attempt(ticket, undo="ROLLBACK TO job")
                execute("RELEASE job")
        if self._connection.in_transaction:
            self._commit()

    def _gather(self, group: list[_Ticket]) -> None:
        with self._mutex:
            for _ in range(min(MAX_GROUP, len(self._waiting))):
                group.append(self._waiting.popleft())  # noqa: PERF401 - none is lost when this is interrupted

    def _attempt(self, ticket: _Ticket, *, undo: str) -> None:
        try:
            ticket.value = ticket.job(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                # SQLite gave up the whole transaction: the neighbours' work is undone as well.
                raise
            self._connection.execute(undo)
            ticket.error = translate(error, self._place) if isinstance(error, sqlite3.Error) else error

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise AnswerLost(f"{self._place} may not have been synced ({error}); repeat the same operation.") from error

    def _undo(self, group: list[_Ticket], failure: Exception) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        for ticket in group:
            # Each thread gets an error of its own: a raised one carries its thread's traceback.
            if isinstance(failure, sqlite3.Error):
                ticket.error = translate(failure, self._place)
            else:
                ticket.error = type(failure)(str(failure))
