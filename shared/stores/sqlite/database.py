"""One database file (or memory) as reads and grouped durable writes."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from shared.domain.errors import Unavailable
from shared.domain.times import format_time_ms
from shared.stores.sqlite.checkpoints import Checkpointer
from shared.stores.sqlite.connections import BUSY_TIMEOUT_S, check_file, connect, create_schema, make_file
from shared.stores.sqlite.errors import translate
from shared.stores.sqlite.group_commit import GroupCommit
from shared.stores.sqlite.turnstile import Turnstile
from shared.system import THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from shared.ports.system import Clock, Waiting

A = TypeVar("A")
T = TypeVar("T")


class Database:
    """Gives every read a connection of its own, and every write its place in the next group."""

    def __init__(self, path: Path | None, clock: Clock, waiting: Waiting = THREADS) -> None:
        """Open the file at `path`, made if absent; None is a store in memory, for one process.

        Writers wait for each other by `waiting`.

        Unavailable or Broken says why that cannot be, and what to do.
        """
        self._path = path
        # Who shares a thread must not wait inside SQLite while a log is recovered: its caller comes again.
        self._reader_timeout_s = BUSY_TIMEOUT_S if waiting is THREADS else 0.0
        self.place = "The store in memory" if path is None else str(path)
        self._closed = False
        self._idle: deque[sqlite3.Connection] = deque()
        self._turnstile: Turnstile | None = None
        self._checkpoints: Checkpointer | None = None
        created = format_time_ms(clock.now_ms()).removesuffix("Z")
        if path is not None:
            make_file(path, created)
        with self._translated():
            # Waiting for other processes is the turnstile's task.
            self._writer = connect(path, busy_timeout_s=0)
            if path is None:
                create_schema(self._writer, created)
            else:
                self._share(path)
        self._group = GroupCommit(self._writer, self.place, self._begin, waiting)

    def _share(self, path: Path) -> None:
        """Stand in line with the other processes over the file, after a look whether it is a store of ours."""
        with contextlib.ExitStack() as undo:
            undo.callback(self._writer.close)
            check_file(self._writer, self.place)
            self._turnstile = Turnstile(path)
            undo.callback(self._turnstile.close)
            # A file that cannot be written is told now, not to the first buyer.
            self._turnstile.begin(self._writer)
            self._writer.execute("ROLLBACK")
            undo.pop_all()
        self._checkpoints = Checkpointer(path, self._turnstile)

    def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Carry out `job` in a transaction; its answer is given when it is durable."""
        self._refuse_when_closed()
        return self._noted(self._group.run(job))

    def write_together(self, job: Callable[[sqlite3.Connection, Sequence[A]], Sequence[T]], argument: A) -> T:
        """Carry out `job` for this argument and for those of others who bring it at the same time."""
        self._refuse_when_closed()
        return self._noted(self._group.run_together(job, argument))

    def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Carry out `job`, which only reads; each of its statements sees one moment."""
        self._refuse_when_closed()
        with self._translated():
            if self._path is None:
                with self._group.turn:
                    return job(self._writer)
            connection = self._take()
            try:
                return job(connection)
            finally:
                self._put_back(connection)

    def close(self) -> None:
        """Close every connection; further calls raise Unavailable."""
        if self._closed:
            return
        self._closed = True
        if self._checkpoints is not None:
            self._checkpoints.close()
        with self._group.turn:
            while self._idle:
                self._idle.pop().close()
            self._writer.close()
        if self._turnstile is not None:
            self._turnstile.close()

    def _noted(self, answer: T) -> T:
        if self._checkpoints is not None:
            self._checkpoints.note(self._group.jobs_done)
        return answer

    def _begin(self, connection: sqlite3.Connection) -> None:
        # Looked at again in turn: a writer may have waited while the store was closed.
        self._refuse_when_closed()
        if self._turnstile is None:
            connection.execute("BEGIN IMMEDIATE")
        else:
            self._turnstile.begin(connection)

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            assert self._path is not None  # noqa: S101 - for the type checker: memory has one connection
            return connect(self._path, busy_timeout_s=self._reader_timeout_s)

    def _put_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise Unavailable(f"{self.place} was closed; open it again.")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translate(error, self.place) from error
