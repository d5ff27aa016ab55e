"""Whose turn it is to write, between processes.

SQLite lets waiting writers ask again after ever longer pauses, and whoever asks at the right moment wins: a process
that writes without a pause starves all others. So a writer first takes the one place before the file, and gives it up
when its transaction has begun. The one that has just committed finds that place taken, and lets the waiting one pass.
"""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shared.domain.errors import Contended, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Pauses between two looks, in seconds; a transaction of another process takes about a millisecond.
_FIRST_PAUSE_S = 0.000_05
_LONGEST_PAUSE_S = 0.001
# Looks before a writer gives up: somewhat more than two seconds.
MAX_LOOKS = 2_000


class Turnstile:
    """The place before the file at `path`: a lock on a neighbour of it, which the system lifts when a process dies."""

    def __init__(self, path: Path) -> None:
        """Make the neighbour if it is not there; Unavailable with what to do when that is not allowed."""
        self._place = str(path)
        neighbour = path.with_name(f"{path.name}-turn")
        try:
            self._file = neighbour.open("ab")
        except OSError as error:
            raise Unavailable(
                f"{neighbour} cannot be written ({error.strerror}); "
                "give this user the right to, or set ONSALE_DATA_DIR."
            ) from error
        self._pause = threading.Event()
        # A file's lock belongs to the opened file, not to the thread.
        self._mine = threading.Lock()

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a write transaction in turn; Contended when another program holds the file for seconds."""
        with self.standing():
            self._until(lambda: _begun(connection))

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Stand in the place: no other process begins a transaction meanwhile."""
        with self._mine:
            self._until(self._entered)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the neighbour."""
        self._file.close()

    def _entered(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _until(self, succeeded: Callable[[], bool]) -> None:
        pause_s = _FIRST_PAUSE_S
        for _ in range(MAX_LOOKS):
            if succeeded():
                return
            self._pause.wait(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
        raise Contended(f"Another program is writing to {self._place}; repeat the request after a short random wait.")


def _begun(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
