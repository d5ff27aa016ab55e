"""A back end that is opened when it is first asked for: a door without it is still a door."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What can be given back."""

    def close(self) -> None:
        """Give back connections and files."""
        ...


T = TypeVar("T", bound=Closable)


class Opened(Generic[T]):
    """Opens once; what goes wrong then is tried again with the next question."""

    def __init__(self, open_it: Callable[[], T]) -> None:
        """Open by `open_it`, which may raise Unavailable."""
        self._open = open_it
        self._lock = threading.Lock()
        self._opened: T | None = None

    def get(self) -> T:
        """Return it; Unavailable when it cannot be opened."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def close(self) -> None:
        """Give back what was opened."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
