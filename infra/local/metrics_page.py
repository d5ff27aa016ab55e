"""`/metrics` of one machine, for Prometheus: the counts of all its processes together.

Counters and distributions are added; of a gauge, that of the newest snapshot that has it counts. Format: "Exposition
formats", Prometheus documentation, as `prometheus_client` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from shared.metering.meter import STEPS_S, Labels, Series
from shared.metering.snapshot import Snapshot, add_series
from shared.metrics import METRICS, PROCESS_AGE_S, Kind, Metric, prometheus_name

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_page(snapshots: Sequence[Snapshot], now_ms: int) -> str:
    """Write all metrics of the list; one that nobody has counted yet stands there without values."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Machine(snapshots, now_ms))
    return generate_latest(registry).decode("utf-8")


class _Machine(Collector):
    def __init__(self, snapshots: Sequence[Snapshot], now_ms: int) -> None:
        self._snapshots = snapshots
        self._now_ms = now_ms

    def collect(self) -> Iterable[Family]:
        return (_family(metric, self._series(metric)) for metric in METRICS)

    def _series(self, metric: Metric) -> dict[Labels, Series]:
        if metric is PROCESS_AGE_S:
            return {
                (snapshot.process,): Series(max(0, self._now_ms - snapshot.at_ms) / 1000)
                for snapshot in self._snapshots
            }
        return add_series(self._snapshots, metric)


def _family(metric: Metric, series: dict[Labels, Series]) -> Family:
    name = prometheus_name(metric)
    match metric.kind:
        case Kind.COUNTER:
            counter = CounterMetricFamily(name, metric.meaning, labels=metric.labels)
            for labels, one in series.items():
                counter.add_metric(labels, one.value)
            return counter
        case Kind.GAUGE:
            gauge = GaugeMetricFamily(name, metric.meaning, labels=metric.labels)
            for labels, one in series.items():
                gauge.add_metric(labels, one.value)
            return gauge
        case Kind.TIMES:
            times = HistogramMetricFamily(name, metric.meaning, labels=metric.labels)
            for labels, one in series.items():
                times.add_metric(labels, list(_buckets(one)), sum_value=one.value)
            return times


def _buckets(series: Series) -> Iterator[tuple[str, float]]:
    counts = series.cumulated()
    yield from zip((*map(str, STEPS_S), "+Inf"), counts, strict=True)
