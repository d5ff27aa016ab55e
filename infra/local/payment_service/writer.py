"""One thread writes the books. Work that waits together is committed together and answered after the commit.

Each piece of work is its own savepoint, so one that fails leaves its neighbours alone.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from infra.local.payment_service.books import Books, connect
from infra.local.payment_service.records import Event

# Enough to share one fsync among everything that waits; small enough that nobody waits long for the rest.
GROUP_MAX = 64

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    run: Callable[[Books], Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Runs functions over the books, one at a time, each result given out only once it is durable."""

    def __init__(self, path: Path, on_events: Callable[[list[Event]], None]) -> None:
        self._connection = connect(path)
        self._books = Books(self._connection)
        self._on_events = on_events
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._serve, name="books-writer")
        self._thread.start()

    async def run(self, work: Callable[[Books], T]) -> T:
        """Run `work` in a transaction; its exception, or that of the commit, is raised here."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Work(work, future))
        # A caller that goes away must not take away the answer's future under the writer.
        return await asyncio.shield(future)

    def close(self) -> None:
        """Finish what was handed in, then end the thread."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        while True:
            group, ending = self._gather()
            if group:
                self._carry_out(group)
            if ending:
                return

    def _gather(self) -> tuple[list[_Work], bool]:
        first = self._queue.get()
        if first is None:
            return [], True
        group = [first]
        while len(group) < GROUP_MAX:
            try:
                work = self._queue.get_nowait()
            except queue.Empty:
                break
            if work is None:
                return group, True
            group.append(work)
        return group, False

    def _carry_out(self, group: list[_Work]) -> None:
        self._books.told = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for work in group:
                self._one(work)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            log.exception("The books could not be written: look at the disk.")
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._books.told = []
            for work in group:
                work.error = error
        self._loop.call_soon_threadsafe(self._hand_out, group, self._books.told)

    def _one(self, work: _Work) -> None:
        told_before = len(self._books.told)
        self._connection.execute("SAVEPOINT one")
        try:
            work.result = work.run(self._books)
        except Exception as error:  # noqa: BLE001 - handed to the caller as it is
            work.error = error
            self._connection.execute("ROLLBACK TO one")
            del self._books.told[told_before:]
        self._connection.execute("RELEASE one")

    def _hand_out(self, group: list[_Work], told: list[Event]) -> None:
        if told:
            self._on_events(told)
        for work in group:
            if work.future.done():
                continue
            if work.error is not None:
                work.future.set_exception(work.error)
            else:
                work.future.set_result(work.result)
