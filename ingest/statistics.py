"""The statistics, opened when they are first asked for: a door without them is still a door."""

from __future__ import annotations

import threading
from collections.abc import Callable

from shared.ports import StatsStore


class Statistics:
    """Opens once; what goes wrong then is tried again with the next question."""

    def __init__(self, open_stats: Callable[[], StatsStore]) -> None:
        """Open by `open_stats`, which may raise Unavailable."""
        self._open = open_stats
        self._lock = threading.Lock()
        self._stats: StatsStore | None = None

    def get(self) -> StatsStore:
        """Return them; Unavailable when they cannot be opened."""
        with self._lock:
            if self._stats is None:
                self._stats = self._open()
            return self._stats

    def close(self) -> None:
        """Give back what was opened."""
        with self._lock:
            if self._stats is not None:
                self._stats.close()
