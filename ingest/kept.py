"""Answers kept for a moment, so that any number of people watching cost what one does."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from shared.ports.system import Clock

T = TypeVar("T")

_LOCKS = 16


class Kept(Generic[T]):
    """What was last made for each key, for `keep_s` seconds; at most `most` keys."""

    def __init__(self, clock: Clock, *, keep_s: float = 2.0, most: int = 256) -> None:
        """Keep nothing yet."""
        self._clock = clock
        self._keep_s = keep_s
        self._most = most
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._turn = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return what is kept, or make it; those who come for the same key meanwhile wait for it."""
        with self._locks[hash(key) % _LOCKS]:
            now_s = self._clock.monotonic_s()
            with self._turn:
                kept = self._kept.get(key)
            if kept is not None and now_s - kept[0] < self._keep_s:
                return kept[1]
            made = make()
            with self._turn:
                self._kept[key] = now_s, made
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            return made
