"""Durable writes, grouped: callers that write at the same time share one transaction and one sync of the disk.

There is no writer thread. The first that comes leads: it carries out what has gathered, its own job among it,
commits, wakes the others and hands the lead to whoever came meanwhile. One alone pays for no hand-over. A caller that
shares its thread with others never leads: for it a thread is started that leads one group.
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
    from collections.abc import Callable, Iterable, Sequence

    from shared.ports.system import Waiting

    # Carries out the jobs of all who asked for the same thing with an argument each; an answer for each.
    Together = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]

A = TypeVar("A")
T = TypeVar("T")

# Jobs in one transaction. More would save little of the sync and lengthen what other processes wait for.
MAX_GROUP = 128


class _Ticket:
    """One waiting job; `gate` opens when it is done or when its caller is to lead."""

    __slots__ = ("argument", "done", "error", "gate", "job", "leads", "may_lead", "value")

    def __init__(self, job: Together, argument: object, waiting: Waiting) -> None:
        self.job = job
        self.argument = argument
        self.gate = waiting.gate()
        self.may_lead = waiting.may_block()
        self.leads = False
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None


class GroupCommit:
    """The one writer of this process over `connection` (autocommit mode, shared between threads)."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        place: str,
        begin: Callable[[sqlite3.Connection], None],
        waiting: Waiting,
    ) -> None:
        """Write through `connection`; `place` names the file in errors, `begin` waits for this process's turn.

        Callers wait for their group by `waiting`.
        """
        self._connection = connection
        self._begin = begin
        self._place = place
        self._waiting = waiting
        self._mutex = threading.Lock()
        self._queue: deque[_Ticket] = deque()
        self._led = False
        # Held while the connection is in use: a store in memory reads through the same one.
        self.turn = threading.Lock()
        self.jobs_done = 0

    def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Carry out `job` in a transaction and return its answer once that is durable.

        An error raised by `job` undoes this job alone.
        """
        return cast("T", self._run(lambda connection, _: [job(connection)], None))

    def run_together(self, job: Callable[[sqlite3.Connection, Sequence[A]], Sequence[T]], argument: A) -> T:
        """Carry out `job` once for all who bring it with an argument to the same transaction; return this one's answer.

        When it fails it is undone, and tried for each argument by itself.
        """
        return cast("T", self._run(job, argument))

    def _run(self, job: Together, argument: object) -> object:
        ticket = _Ticket(job, argument, self._waiting)
        with self._mutex:
            self._queue.append(ticket)
            if not self._led:
                self._give_lead()
        try:
            if not ticket.leads:
                if ticket.may_lead:
                    self._waiting.hurry()
                ticket.gate.wait()
            while not ticket.done:
                self._lead()
        except BaseException:
            self._abandon(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket.value

    def _lead(self) -> None:
        """Carry out one group, and pass the lead on: to the same caller when its own job was not yet among it."""
        try:
            self._serve()
        finally:
            with self._mutex:
                self._give_lead()

    def _lead_for_others(self) -> None:
        """Carry out one group of callers who cannot, and pass the lead on."""
        # Whatever went wrong, its group has been told.
        with contextlib.suppress(BaseException):
            self._lead()

    def _serve(self) -> None:
        group: list[_Ticket] = []
        try:
            with self.turn:
                self._carry_out(group)
        finally:
            for ticket in group:
                ticket.done = True
                if not ticket.leads:
                    ticket.gate.open()

    def _give_lead(self) -> None:
        """Let the first in the queue lead that can, or else a thread in their place; the mutex is held."""
        self._led = bool(self._queue)
        leader = next((ticket for ticket in self._queue if ticket.may_lead), None)
        if leader is None:
            if self._led:
                self._waiting.start(self._lead_for_others)
        elif not leader.leads:
            leader.leads = True
            leader.gate.open()

    def _abandon(self, ticket: _Ticket) -> None:
        """Take the job of an interrupted caller out of the queue, so that nobody waits for its lead."""
        with self._mutex:
            if ticket in self._queue:
                self._queue.remove(ticket)
                if ticket.leads:
                    self._give_lead()

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
        try:
            self._begin(self._connection)
        finally:
            # Not before: another process's commit may take long, and who came meanwhile comes along.
            self._gather(group)
        batches = _batches(group)
        if len(batches) == 1:
            self._attempt_alone(group)
        else:
            for batch in batches:
                self._attempt_apart(batch)
        if self._connection.in_transaction:
            self._commit()

    def _gather(self, group: list[_Ticket]) -> None:
        with self._mutex:
            for _ in range(min(MAX_GROUP, len(self._queue))):
                group.append(self._queue.popleft())  # noqa: PERF401 - none is lost when this is interrupted

    def _attempt_alone(self, batch: Sequence[_Ticket]) -> None:
        """Carry out what is all of a transaction; that needs no savepoint, and each statement less is a turn less."""
        if not self._attempt(batch, undo="ROLLBACK") and len(batch) > 1:
            self._begin(self._connection)
            for ticket in batch:
                self._attempt_apart([ticket])

    def _attempt_apart(self, batch: Sequence[_Ticket]) -> None:
        execute = self._connection.execute
        execute("SAVEPOINT job")
        done = self._attempt(batch, undo="ROLLBACK TO job")
        execute("RELEASE job")
        if not done and len(batch) > 1:
            for ticket in batch:
                self._attempt_apart([ticket])

    def _attempt(self, batch: Sequence[_Ticket], *, undo: str) -> bool:
        try:
            answers = batch[0].job(self._connection, [ticket.argument for ticket in batch])
        except Exception as error:
            if not self._connection.in_transaction:
                # SQLite gave up the whole transaction: the neighbours' work is undone as well.
                raise
            self._connection.execute(undo)
            for ticket in batch:
                ticket.error = translate(error, self._place) if isinstance(error, sqlite3.Error) else error
            return False
        for ticket, answer in zip(batch, answers, strict=True):
            ticket.value, ticket.error = answer, None
        return True

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


def _batches(group: Iterable[_Ticket]) -> Sequence[list[_Ticket]]:
    """Put together those who ask for the same; who came at the same time came in no order."""
    batches: dict[Together, list[_Ticket]] = {}
    for ticket in group:
        batches.setdefault(ticket.job, []).append(ticket)
    return list(batches.values())
