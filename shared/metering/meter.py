"""The metrics of one process."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate

from msgspec import Struct, field

from shared.metrics import BY_NAME, Kind, Metric

# Upper bounds in seconds of the steps in which durations are counted; the last step has none.
STEPS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Combinations of labels that one metric may have; whatever comes after them is counted together.
MAX_SERIES = 500
OTHER = "other"
# Single durations kept between two deliveries, as many as one EMF line takes; the steps count all of them.
MAX_FRESH = 100

Labels = tuple[str, ...]


class Series(Struct):
    """One metric with one combination of labels.

    `value` is the count so far, the newest value, or the sum of durations; `steps` has a duration count per step.
    `taken` is what was delivered of a counter, `fresh` are the durations since.
    """

    value: float = 0.0
    steps: list[int] = field(default_factory=list)
    taken: float = 0.0
    fresh: list[float] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many durations there were."""
        return sum(self.steps)

    @property
    def mean(self) -> float:
        """The durations' mean, 0 without any."""
        return self.value / self.count if self.count else 0.0

    def quantile(self, share: float) -> float | None:
        """Return the bound below which this share of the durations lies; None when that is above every bound."""
        wanted = share * self.count
        found = (bound for bound, count in zip(STEPS_S, self.cumulated(), strict=False) if count >= wanted)
        return next(found, None)

    def cumulated(self) -> list[int]:
        """Return how many durations lie at or below each bound, the last without one."""
        return list(accumulate(self.steps))


class Meter:
    """Counts from any thread. Labels come in the order in which the metric names them."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._lock = threading.Lock()
        self._series: dict[str, dict[Labels, Series]] = {}

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """Raise a counter."""
        with self._lock:
            self._find(metric, labels, Kind.COUNTER).value += by

    def put(self, metric: Metric, value: float, *labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._find(metric, labels, Kind.GAUGE).value = value

    def time(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Add a duration."""
        with self._lock:
            series = self._find(metric, labels, Kind.TIMES)
            if not series.steps:
                series.steps = [0] * (len(STEPS_S) + 1)
            series.value += seconds
            series.steps[bisect_left(STEPS_S, seconds)] += 1
            if len(series.fresh) < MAX_FRESH:
                series.fresh.append(seconds)

    def read(self) -> dict[str, dict[Labels, Series]]:
        """Return all series as they stand now, by metric and labels."""
        with self._lock:
            return {
                name: {
                    labels: Series(series.value, list(series.steps), series.taken) for labels, series in found.items()
                }
                for name, found in self._series.items()
            }

    def take(self) -> dict[str, dict[Labels, list[float]]]:
        """Return what came since the last time: increments, durations, and the gauges' values."""
        with self._lock:
            taken = {
                name: {labels: values for labels, series in found.items() if (values := _take(name, series))}
                for name, found in self._series.items()
            }
        return {name: found for name, found in taken.items() if found}

    def resume(self, series: Mapping[str, Mapping[Labels, Series]]) -> None:
        """Go on counting where a predecessor stopped."""
        with self._lock:
            for name, found in series.items():
                mine = self._series.setdefault(name, {})
                for labels, old in found.items():
                    mine[labels] = Series(old.value, list(old.steps), old.value)

    def _find(self, metric: Metric, labels: Labels, kind: Kind) -> Series:
        if metric.kind is not kind or len(labels) != len(metric.labels):
            raise ValueError(f"{metric.name} is a {metric.kind} with the labels {metric.labels}")
        found = self._series.setdefault(metric.name, {})
        series = found.get(labels)
        if series is None:
            if len(found) >= MAX_SERIES:
                labels = (OTHER,) * len(labels)
            series = found.setdefault(labels, Series())
        return series


def _take(name: str, series: Series) -> list[float]:
    match BY_NAME[name].kind:
        case Kind.COUNTER:
            increment, series.taken = series.value - series.taken, series.value
            return [increment] if increment else []
        case Kind.GAUGE:
            return [series.value]
        case Kind.TIMES:
            fresh, series.fresh = series.fresh, []
            return fresh
