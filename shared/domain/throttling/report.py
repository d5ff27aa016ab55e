"""Counts of attempts and throttles, as one process has them or as several have them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct, field

K = TypeVar("K")
N = TypeVar("N", int, float)

# Table, index, operation, place.
RowKey = tuple[str, str, str, str]
# Table, index, operation, place, reason.
ThrottleKey = tuple[str, str, str, str, str]
# Table, event, and whether it is written.
DemandKey = tuple[str, str, bool]


class Row(Struct, frozen=True):
    """Attempts of one kind at one place; `failed` are those that ended badly for another reason than a throttle."""

    attempts: int = 0
    throttled: int = 0
    failed: int = 0


class Throttled(Struct, frozen=True):
    """Throttles of one kind with the times of the first and the last."""

    count: int
    first_ms: int
    last_ms: int


class Bucket(Struct, frozen=True):
    """What happened in BUCKET_S seconds."""

    attempts: int = 0
    throttled: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


class Demand(Struct, frozen=True):
    """Units asked for by second, and the seconds in which some of it was refused."""

    seconds: Mapping[int, float] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()

    @property
    def peak(self) -> float:
        """The most units a second that were asked for while some were refused."""
        return max((self.seconds.get(second, 0.0) for second in self.refused), default=0.0)


class Attempts(Struct, frozen=True):
    """All that is counted. `buckets` are by the epoch second of their beginning."""

    rows: Mapping[RowKey, Row] = field(default_factory=dict)
    throttles: Mapping[ThrottleKey, Throttled] = field(default_factory=dict)
    buckets: Mapping[int, Bucket] = field(default_factory=dict)
    demand: Mapping[DemandKey, Demand] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All attempts."""
        return sum(row.attempts for row in self.rows.values())

    @property
    def throttled(self) -> int:
        """All throttled attempts."""
        return sum(row.throttled for row in self.rows.values())

    @property
    def rate(self) -> float:
        """Throttled attempts over attempts, 0 without any."""
        return self.throttled / self.total if self.total else 0.0


def add_attempts(parts: Iterable[Attempts]) -> Attempts:
    """Add the counts of several processes."""
    rows: dict[RowKey, Row] = {}
    throttles: dict[ThrottleKey, Throttled] = {}
    buckets: dict[int, Bucket] = {}
    demand: dict[DemandKey, Demand] = {}
    for part in parts:
        for row_key, row in part.rows.items():
            old = rows.get(row_key, Row())
            rows[row_key] = Row(old.attempts + row.attempts, old.throttled + row.throttled, old.failed + row.failed)
        for throttle_key, one in part.throttles.items():
            other = throttles.get(throttle_key, Throttled(0, one.first_ms, one.last_ms))
            throttles[throttle_key] = Throttled(
                other.count + one.count, min(other.first_ms, one.first_ms), max(other.last_ms, one.last_ms)
            )
        for second, bucket in part.buckets.items():
            before = buckets.get(second, Bucket())
            buckets[second] = Bucket(
                before.attempts + bucket.attempts,
                before.throttled + bucket.throttled,
                _sum(before.reasons, bucket.reasons),
            )
        for demand_key, wanted in part.demand.items():
            known = demand.get(demand_key, Demand())
            demand[demand_key] = Demand(_sum(known.seconds, wanted.seconds), known.refused | wanted.refused)
    return Attempts(rows, throttles, dict(sorted(buckets.items())), demand)


def _sum(one: Mapping[K, N], other: Mapping[K, N]) -> dict[K, N]:
    added = dict(one)
    for key, number in other.items():
        added[key] = added[key] + number if key in added else number
    return added
