"""One at a time, whichever way the callers wait."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from types import TracebackType

from shared.ports.system import Gate, Waiting


class Turn:
    """A lock whose waiting callers wait by `waiting`: one that shares its thread must not stop it for the others."""

    def __init__(self, waiting: Waiting) -> None:
        """Begin free."""
        self._waiting = waiting
        self._lock = threading.Lock()
        self._before: deque[Gate] = deque()

    def acquire(self, *, blocking: bool = True) -> bool:
        """Take it; False when it is taken and `blocking` is not wanted."""
        while not self._lock.acquire(blocking=False):
            if not blocking:
                return False
            gate = self._waiting.gate()
            self._before.append(gate)
            # It may have become free before the gate stood there.
            if self._lock.acquire(blocking=False):
                return True
            gate.wait()
        return True

    def release(self) -> None:
        """Give it back; all who wait try again."""
        self._lock.release()
        # Another one may be emptying the queue at the same time.
        with contextlib.suppress(IndexError):
            while True:
                self._before.popleft().open()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()
