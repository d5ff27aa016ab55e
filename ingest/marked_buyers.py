"""Buyers whom the stream has found to order like programs: a list, some seconds old, that never holds anybody up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from shared.domain.errors import OnsaleError

if TYPE_CHECKING:
    from shared.domain.stats.mark import Mark
    from shared.ports.system import Clock

TTL_S = 5.0

Job = Callable[[], None]


def on_a_thread(job: Job) -> None:
    """Let a job be done beside the request that asked for it."""
    threading.Thread(target=job, name="marked-buyers", daemon=True).start()


def nobody() -> Sequence[Mark]:
    """Mark nobody: where no statistics are kept."""
    return ()


class MarkedBuyers:
    """The marks that hold, read at most every 5 s, by one thread, which no request waits for.

    While the statistics do not answer, the last list stands; its marks lapse by themselves.
    """

    def __init__(
        self, read: Callable[[], Sequence[Mark]], clock: Clock, *, aside: Callable[[Job], None] = on_a_thread
    ) -> None:
        """Read by `read`, a job for `aside`; nobody is marked before the first reading."""
        self._read = read
        self._clock = clock
        self._aside = aside
        self._lock = threading.Lock()
        self._reading = False
        self._read_at_s = float("-inf")
        self._until_ms: Mapping[str, int] = {}

    def has(self, buyer_id: str) -> bool:
        """Say whether the buyer is slowed down; have the list read anew when it is old."""
        self._refresh()
        until_ms = self._until_ms.get(buyer_id)
        return until_ms is not None and self._clock.now_ms() < until_ms

    def _refresh(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._read_at_s < TTL_S:
            return
        with self._lock:
            if self._reading or now_s - self._read_at_s < TTL_S:
                return
            self._reading = True
            self._read_at_s = now_s
        self._aside(self._take)

    def _take(self) -> None:
        try:
            self._until_ms = {mark.buyer_id: mark.until_ms for mark in self._read()}
        except OnsaleError:
            return
        finally:
            self._reading = False
