"""Every attempt at the store, by table, index, operation and key, in bounded memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shared.domain.throttling.request import BUCKET_S, Ending, Request, event_of
from shared.metering.meter import Meter
from shared.metrics import ATTEMPTS, THROTTLES
from shared.ports.system import Clock

if TYPE_CHECKING:
    from shared.domain.throttling.report import Attempts, DemandKey, RowKey, ThrottleKey

# Kinds of attempts told apart by their key; more than a large sale's shards times its operations. Others are counted
# together, so that totals are always exact.
MAX_ROWS = 4_000
MAX_THROTTLES = 1_000
MAX_EVENTS = 64
# How far back the course of time can be shown, and how far back demand is known second by second.
MAX_BUCKETS = 120
MAX_SECONDS = 120
OTHER = "other"


class _Demand(Struct):
    seconds: OrderedDict[int, float] = field(default_factory=OrderedDict)
    refused: set[int] = field(default_factory=set)
    worst: tuple[int, float] | None = None
    """The second in which most was asked for while some was refused, of those that are forgotten by now."""

    def forget(self) -> None:
        """Forget the oldest second."""
        oldest, units = self.seconds.popitem(last=False)
        if oldest in self.refused:
            self.refused.discard(oldest)
            self.worst = max(self.worst or (oldest, units), (oldest, units), key=lambda one: one[1])

    def value(self) -> tuple[dict[int, float], frozenset[int]]:
        """Return it as it stands now: what a `Demand` is made of."""
        worst = [self.worst] if self.worst is not None else []
        return dict([*worst, *self.seconds.items()]), frozenset([*self.refused, *(one[0] for one in worst)])


class Ledger:
    """Counts attempts from any thread, and tells the meter those sums that carry no key."""

    def __init__(self, clock: Clock, meter: Meter) -> None:
        """Begin at nothing."""
        self._clock = clock
        self._meter = meter
        self._lock = threading.Lock()
        self._rows: dict[RowKey, list[int]] = {}
        self._throttles: dict[ThrottleKey, list[int]] = {}
        self._buckets: OrderedDict[int, list[int]] = OrderedDict()
        self._reasons: dict[int, dict[str, int]] = {}
        self._demand: dict[DemandKey, _Demand] = {}

    def note(self, request: Request, ending: Ending) -> None:
        """Count one attempt."""
        now_ms = self._clock.now_ms()
        throttle = ending.throttle
        with self._lock:
            self._note_row(request, ending)
            self._note_time(now_ms // 1000, throttle.reason if throttle is not None else None)
            self._note_demand(now_ms // 1000, request, refused=throttle is not None)
            if throttle is not None:
                key = (throttle.table, throttle.index, request.operation, throttle.place, throttle.reason)
                self._note_throttle(key, now_ms)
        self._meter.count(ATTEMPTS, request.table, request.index, request.operation)
        if throttle is not None:
            self._meter.count(THROTTLES, throttle.table, throttle.index, throttle.reason)

    def read(self) -> Attempts:
        """Return all counts as they stand now."""
        # Only dashboards ask; a cold start does without.
        from shared.domain.throttling.report import Attempts, Bucket, Demand, Row, Throttled  # noqa: PLC0415

        with self._lock:
            return Attempts(
                rows={key: Row(*row) for key, row in self._rows.items()},
                throttles={key: Throttled(*one) for key, one in self._throttles.items()},
                buckets={
                    second: Bucket(bucket[0], bucket[1], dict(self._reasons.get(second, {})))
                    for second, bucket in self._buckets.items()
                },
                demand={
                    key: Demand(*one.value())
                    for key, one in self._demand.items()
                    if one.refused or one.worst is not None
                },
            )

    def resume(self, attempts: Attempts) -> None:
        """Go on counting where a predecessor stopped; what it knew second by second is not taken over."""
        with self._lock:
            self._rows = {key: [row.attempts, row.throttled, row.failed] for key, row in attempts.rows.items()}
            self._throttles = {key: [one.count, one.first_ms, one.last_ms] for key, one in attempts.throttles.items()}

    def _note_row(self, request: Request, ending: Ending) -> None:
        key = (request.table, request.index, request.operation, request.place)
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= MAX_ROWS:
                key = (OTHER, "", OTHER, OTHER)
            row = self._rows.setdefault(key, [0, 0, 0])
        row[0] += 1
        if ending.throttle is not None:
            row[1] += 1
        elif ending.outcome != "ok":
            row[2] += 1

    def _note_throttle(self, key: ThrottleKey, now_ms: int) -> None:
        if key not in self._throttles and len(self._throttles) >= MAX_THROTTLES:
            key = (key[0], key[1], key[2], OTHER, OTHER)
        one = self._throttles.setdefault(key, [0, now_ms, now_ms])
        one[0] += 1
        one[2] = now_ms

    def _note_time(self, second: int, reason: str | None) -> None:
        start = second - second % BUCKET_S
        bucket = self._buckets.setdefault(start, [0, 0])
        bucket[0] += 1
        if reason is not None:
            bucket[1] += 1
            reasons = self._reasons.setdefault(start, {})
            reasons[reason] = reasons.get(reason, 0) + 1
        if len(self._buckets) > MAX_BUCKETS:
            oldest, _ = self._buckets.popitem(last=False)
            self._reasons.pop(oldest, None)

    def _note_demand(self, second: int, request: Request, *, refused: bool) -> None:
        for place, units in request.demand.items():
            key = (request.table, event_of(place), request.writes)
            one = self._demand.get(key)
            if one is None:
                if len(self._demand) >= MAX_EVENTS:
                    key = (request.table, OTHER, request.writes)
                one = self._demand.setdefault(key, _Demand())
            one.seconds[second] = one.seconds.get(second, 0.0) + units
            if refused:
                one.refused.add(second)
            if len(one.seconds) > MAX_SECONDS:
                one.forget()
