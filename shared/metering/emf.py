"""Metrics to CloudWatch as lines of the embedded metric format on standard output, as Lambda takes them.

Each line has a value list of at most 100 and up to 30 dimensions; a metric counts apart for every set of dimensions
that a line names. So each line names the full set of its labels, the set without any (what totals and most alarms
are read from), and the sets that an alarm is narrowed to. Source: "CloudWatch embedded metric format specification".
"""

from __future__ import annotations

from collections.abc import Callable

from aws_lambda_powertools.metrics import EphemeralMetrics

from shared.metering.meter import Meter
from shared.metrics import BY_NAME, NAMESPACE, Metric
from shared.settings import Settings

SERVICE = "service"


def make_sender(settings: Settings, meter: Meter) -> Callable[[], None]:
    """Return what sends the meter's news: EMF lines where the settings ask for them, else nothing at all."""
    if settings.metrics != "emf":
        return _nothing
    service = service_name(settings.env)
    return lambda: send_emf(meter, service)


def service_name(env: str) -> str:
    """Return the value of the one dimension that all metrics of a deployment have."""
    return f"{NAMESPACE}-{env}"


def send_emf(meter: Meter, service: str) -> None:
    """Print what the meter has counted since the last time, a line for each combination of labels."""
    for name, series in meter.take().items():
        metric = BY_NAME[name]
        for labels, values in series.items():
            line = EphemeralMetrics(namespace=NAMESPACE, service=service)
            named = {label: value or "-" for label, value in zip(metric.labels, labels, strict=True)}
            for label, value in named.items():
                line.add_dimension(label, value)
            for others in dimension_sets(metric)[1:]:
                line.add_dimensions(**{SERVICE: service}, **{label: named[label] for label in others})
            for number in values:
                line.add_metric(name, str(metric.unit), number)
            # Powertools prints a full list by itself.
            if line.metric_set:
                line.flush_metrics()


def dimension_sets(metric: Metric) -> list[tuple[str, ...]]:
    """Return the sets of labels that a metric is sent under, besides the service: the full one first."""
    narrowed = {(alarm.where[0],) for alarm in metric.alarms if alarm.where is not None}
    others = sorted({(), *narrowed} - {metric.labels})
    return [metric.labels, *others]


def _nothing() -> None:
    """Send nowhere."""
