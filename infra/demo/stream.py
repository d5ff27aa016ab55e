"""What the stream of changes counted, to be held against what is stored."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from shared.domain.errors import Unavailable
from shared.domain.stats.window import MINUTE_S
from shared.ports.stats import StatsStore

# The pump is seconds behind at most.
CATCH_UP_WITHIN_S = 10.0
LOOK_EVERY_S = 0.2
MINUTE_MS = MINUTE_S * 1000


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """New orders and changes of status (`from>to`), as counted from the change log."""

    orders: int
    changes: dict[str, int]


def count_stream(
    stats: StatsStore, since_ms: int, until_ms: int, *, orders: int, sleep: Callable[[float], None] = time.sleep
) -> StreamCounts:
    """Add up the minutes of a run; wait a little for the pump while fewer than `orders` new ones are counted."""
    deadline = time.monotonic() + CATCH_UP_WITHIN_S
    while True:
        counts = _add_up(stats, since_ms, until_ms)
        if counts.orders >= orders or time.monotonic() > deadline:
            return counts
        sleep(LOOK_EVERY_S)


def _add_up(stats: StatsStore, since_ms: int, until_ms: int) -> StreamCounts:
    try:
        windows = stats.read_windows(MINUTE_S, since_ms=since_ms - MINUTE_MS, until_ms=until_ms + MINUTE_MS)
    except Unavailable:
        return StreamCounts(0, {})
    changes: Counter[str] = Counter()
    for window in windows:
        changes.update(dict(window.counts.changes))
    return StreamCounts(sum(window.counts.arrivals for window in windows), dict(sorted(changes.items())))
