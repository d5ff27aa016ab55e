"""Counters of what a worker did, for whoever watches."""

from __future__ import annotations

import threading
from collections import Counter


class Tally:
    """Counts by event and deed, from any thread."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}

    def add(self, event_id: str, what: str, count: int) -> None:
        """Count; fits `Observer`."""
        if count:
            with self._lock:
                self._counts.setdefault(event_id, Counter())[what] += count

    def take(self) -> dict[str, dict[str, int]]:
        """Return what was counted since the last time."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return {event_id: dict(counter) for event_id, counter in counts.items()}
