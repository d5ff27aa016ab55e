"""What one process has counted, as plain values that another process can read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from shared.domain.errors import Broken
from shared.domain.throttling.report import Attempts, Bucket, Demand, Row, Throttled, add_attempts
from shared.metering.meter import Labels, Series
from shared.metering.watch import Watch
from shared.metrics import Kind, Metric


class Snapshot(Struct, frozen=True):
    """The counts of the process called `process` at `at_ms`."""

    process: str
    at_ms: int
    series: Mapping[str, Mapping[Labels, Series]]
    attempts: Attempts


def snapshot_of(process: str, watch: Watch, now_ms: int) -> Snapshot:
    """Take a snapshot."""
    return Snapshot(process, now_ms, watch.meter.read(), watch.ledger.read())


def add_snapshots(snapshots: Iterable[Snapshot]) -> Attempts:
    """Add the attempts of several processes."""
    return add_attempts(snapshot.attempts for snapshot in snapshots)


def add_series(snapshots: Iterable[Snapshot], metric: Metric) -> dict[Labels, Series]:
    """Put one metric of several processes together: counts and durations are added, the newest gauge counts."""
    together: dict[Labels, Series] = {}
    for snapshot in sorted(snapshots, key=lambda one: one.at_ms):
        for labels, series in snapshot.series.get(metric.name, {}).items():
            known = together.get(labels)
            together[labels] = series if known is None or metric.kind is Kind.GAUGE else _add(known, series)
    return together


def _add(one: Series, other: Series) -> Series:
    steps = [a + b for a, b in zip(one.steps, other.steps, strict=True)] if one.steps and other.steps else []
    return Series(one.value + other.value, steps or one.steps or other.steps)


def snapshot_value(snapshot: Snapshot) -> dict[str, Any]:
    """Write a snapshot as JSON can hold it."""
    attempts = snapshot.attempts
    return {
        "process": snapshot.process,
        "at_ms": snapshot.at_ms,
        "series": [
            [name, list(labels), series.value, series.steps]
            for name, found in snapshot.series.items()
            for labels, series in found.items()
        ],
        "rows": [[*key, row.attempts, row.throttled, row.failed] for key, row in attempts.rows.items()],
        "throttles": [[*key, one.count, one.first_ms, one.last_ms] for key, one in attempts.throttles.items()],
        "buckets": [
            [second, bucket.attempts, bucket.throttled, dict(bucket.reasons)]
            for second, bucket in attempts.buckets.items()
        ],
        "demand": [[*key, list(one.seconds.items()), sorted(one.refused)] for key, one in attempts.demand.items()],
    }


def read_snapshot(value: Any) -> Snapshot:  # noqa: ANN401 - whatever JSON can hold
    """Read a snapshot back; Broken when it is none."""
    try:
        series: dict[str, dict[Labels, Series]] = {}
        for name, labels, number, steps in value["series"]:
            series.setdefault(name, {})[tuple(labels)] = Series(float(number), [int(step) for step in steps])
        attempts = Attempts(
            rows={(a, b, c, d): Row(*counts) for a, b, c, d, *counts in value["rows"]},
            throttles={(a, b, c, d, e): Throttled(*counts) for a, b, c, d, e, *counts in value["throttles"]},
            buckets={int(second): Bucket(*counts) for second, *counts in value["buckets"]},
            demand={
                (a, b, bool(c)): Demand({int(at): float(units) for at, units in seconds}, frozenset(refused))
                for a, b, c, seconds, refused in value["demand"]
            },
        )
        return Snapshot(str(value["process"]), int(value["at_ms"]), series, attempts)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Broken(f"This is no snapshot of a process's counts: {error!r}.") from error
