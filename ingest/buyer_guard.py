"""How fast one buyer may order: a guard in front of the line. The promise is the limit of tickets per buyer.

Each process keeps what it has seen, in bounded memory; a buyer who is marked gets a lower rate.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from msgspec import Struct

from ingest.errors import TooFast
from ingest.marked_buyers import MarkedBuyers
from shared.ports.system import Clock, Ids

# Buyers remembered; whoever has been quiet for longest is forgotten first, and begins anew.
MAX_BUYERS = 20_000


class Pace(Struct, frozen=True):
    """So many orders at once, and so many a second after them."""

    burst: float
    per_s: float


# Far more than a person needs who presses a button; a page that sends one request fifty times at once fits as well.
ORDINARY = Pace(burst=60, per_s=5)
MARKED = Pace(burst=1, per_s=0.1)


class BuyerGuard:
    """One token bucket a buyer."""

    def __init__(self, clock: Clock, ids: Ids, marked: MarkedBuyers, *, ordinary: Pace = ORDINARY) -> None:
        """Know nobody yet."""
        self._clock = clock
        self._ids = ids
        self._marked = marked
        self._ordinary = ordinary
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, buyer_id: str) -> None:
        """Take one order of the buyer's rate; TooFast with the time to wait when nothing is left."""
        pace = MARKED if self._marked.has(buyer_id) else self._ordinary
        now_s = self._clock.monotonic_s()
        with self._lock:
            at_s, tokens = self._seen.pop(buyer_id, (now_s, pace.burst))
            tokens = min(pace.burst, tokens + max(0.0, now_s - at_s) * pace.per_s)
            self._seen[buyer_id] = now_s, tokens - 1 if tokens >= 1 else tokens
            if len(self._seen) > MAX_BUYERS:
                self._seen.popitem(last=False)
        if tokens < 1:
            raise TooFast(retry_after_s=(1 - tokens) / pace.per_s * (1 + 0.25 * self._ids.fraction()))

    def __len__(self) -> int:
        """Return how many buyers are remembered."""
        return len(self._seen)
