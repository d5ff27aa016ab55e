"""How many notices of the payment service came to what, since the process began."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class NoticeCounts:
    """Counts by outcome, from any thread."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def count(self, outcome: str) -> None:
        """Add one."""
        with self._lock:
            self._counts[outcome] += 1

    def read(self) -> Mapping[str, int]:
        """Return the counts as they stand."""
        with self._lock:
            return dict(self._counts)
