"""How many orders a process takes per second: its static share of the sale's budget, refused before queues form."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from ingest.errors import OverBudget
from shared.domain.sale import Sale
from shared.ports import Clock, Ids

# A tenth of a second's share may come at once; more would let two seconds' worth into one.
BURST_S = 0.1
# Nobody is sent away for longer, however many were refused before.
MAX_WAIT_S = 30.0
MAX_SALES = 1024


@dataclass(slots=True)
class _Bucket:
    at_s: float
    tokens: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    expected: float = 0.0
    """Refused requests whose turn, at the pace of the budget, has not come yet."""


class Admission:
    """One token bucket per sale. Refused requests are told times that lie apart as the budget returns."""

    def __init__(self, clock: Clock, ids: Ids, *, processes: int) -> None:
        """Share every budget with `processes` ingest processes in all."""
        self._clock = clock
        self._ids = ids
        self._processes = processes
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def admit(self, sale: Sale) -> None:
        """Take one order from the budget; OverBudget with the time to wait when nothing is left."""
        rate_per_s = sale.accept_per_s / self._processes
        now_s = self._clock.monotonic_s()
        bucket = self._bucket(sale.event_id, now_s, rate_per_s)
        with bucket.lock:
            _refill(bucket, now_s, rate_per_s)
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return
            next_s = (1 - bucket.tokens) / rate_per_s
            wait_s = max(next_s, min(next_s + bucket.expected / rate_per_s, MAX_WAIT_S))
            bucket.expected = min(bucket.expected + 1, MAX_WAIT_S * rate_per_s)
        # Later than the budget returns, never earlier, and not all at the same moment.
        raise OverBudget(retry_after_s=wait_s * (1 + 0.25 * self._ids.fraction()) + self._ids.fraction())

    def _bucket(self, event_id: str, now_s: float, rate_per_s: float) -> _Bucket:
        with self._lock:
            bucket = self._buckets.get(event_id)
            if bucket is None:
                bucket = self._buckets[event_id] = _Bucket(now_s, _most(rate_per_s))
                if len(self._buckets) > MAX_SALES:
                    self._buckets.popitem(last=False)
            self._buckets.move_to_end(event_id)
            return bucket


def _refill(bucket: _Bucket, now_s: float, rate_per_s: float) -> None:
    gained = max(0.0, now_s - bucket.at_s) * rate_per_s
    bucket.at_s = max(bucket.at_s, now_s)
    bucket.tokens = min(bucket.tokens + gained, _most(rate_per_s))
    bucket.expected = max(0.0, bucket.expected - gained)


def _most(rate_per_s: float) -> float:
    return max(1.0, rate_per_s * BURST_S)
