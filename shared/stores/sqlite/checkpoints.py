"""Checkpoints beside the commits: the write-ahead log is copied into the file by a thread of its own.

On the commit path a checkpoint stalls whoever meets it for as long as the disk takes.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from typing import TYPE_CHECKING

from shared.domain.errors import Unavailable
from shared.stores.sqlite.connections import connect

if TYPE_CHECKING:
    from pathlib import Path

    from shared.stores.sqlite.turnstile import Turnstile

# Some three pages of 4 KiB a job: about 12 MiB of log.
JOBS_BETWEEN = 1_000
# A log that never came to rest is cut while writers wait; 64 MiB, of which all but the last pages are copied already.
MAX_LOG_PAGES = 16_384
_CUT_WAIT_S = 0.05


class Checkpointer:
    """Copies the log now and then; the thread begins with the first need and ends with `close`."""

    def __init__(self, path: Path, turnstile: Turnstile) -> None:
        """Look after the database at `path`, to which writers come by `turnstile`."""
        self._path = path
        self._turnstile = turnstile
        self._wanted = threading.Event()
        self._ended = False
        self._last = 0
        self._thread: threading.Thread | None = None

    def note(self, jobs_done: int) -> None:
        """Take in how many jobs were written so far; called after every commit, and cheap."""
        if jobs_done - self._last < JOBS_BETWEEN:
            return
        self._last = jobs_done
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        with contextlib.closing(connect(self._path, busy_timeout_s=_CUT_WAIT_S)) as connection:
            while True:
                self._wanted.wait()
                self._wanted.clear()
                if self._ended:
                    return
                # What fails now is done by the next one; a damaged file shows itself to the writers.
                with contextlib.suppress(sqlite3.Error, Unavailable):
                    self._copy(connection)

    def _copy(self, connection: sqlite3.Connection) -> None:
        """Copy what can be copied without making anybody wait, and cut a log that has grown too long."""
        _busy, pages, _copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if pages > MAX_LOG_PAGES:
            with self._turnstile.standing():
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
