"""The table of metrics that stands in the README between two markers."""

from __future__ import annotations

from shared.metrics import METRICS, Alarm, Metric, prometheus_name

BEGIN, END = "<!-- metrics:begin -->", "<!-- metrics:end -->"
HEAD = (
    "| metric | `/metrics` | labels | unit | meaning | alarm |",
    "| --- | --- | --- | --- | --- | --- |",
)


class NoMarkers(ValueError):
    """The text has no place for the table; put both markers in it, each on a line of its own."""


def metrics_table() -> str:
    """Return the table, a line a metric."""
    return "\n".join([*HEAD, *(_line(metric) for metric in METRICS)])


def with_table(text: str) -> str:
    """Return the text with the table between its markers; NoMarkers when they are not there, once, in order."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in before:
        raise NoMarkers(NoMarkers.__doc__)
    return f"{before}{begin}\n{metrics_table()}\n\n{end}{after}"


def _line(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
    name = f"`{metric.name}`{' (one machine only)' if metric.local else ''}"
    alarms = "<br>".join(_alarm(alarm) for alarm in metric.alarms) or "–"
    return f"| {name} | `{prometheus_name(metric)}` | {labels} | {metric.unit} | {metric.meaning} | {alarms} |"


def _alarm(alarm: Alarm) -> str:
    which = f" where {alarm.where[0]} is `{alarm.where[1]}`" if alarm.where is not None else ""
    limit = f"{alarm.above:.0%} of `{alarm.share_of}`" if alarm.share_of is not None else f"{alarm.above:,g}"
    return f"`{alarm.name}`: above {limit}{which} in {alarm.minutes} min"
