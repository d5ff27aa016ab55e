"""A Grafana dashboard over Prometheus: a row for each board, a panel for each metric and each share.

Shape: "Dashboard JSON model", Grafana documentation.
"""

from __future__ import annotations

from typing import Any

from shared.metrics import ALARMS, BY_NAME, METRICS, Alarm, Board, Kind, Metric, Unit, prometheus_name

SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT, PER_ROW = 12, 8, 2
_UNITS = {Unit.COUNT: "short", Unit.SECONDS: "s"}


def grafana_dashboard() -> dict[str, Any]:
    """Return the dashboard; the data source is chosen when it is opened."""
    panels: list[dict[str, Any]] = []
    top = 0
    for board in Board:
        panels.append({"type": "row", "title": board.title(), "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}})
        wanted = _wanted(board)
        panels += [_placed(panel, number, top + 1) for number, panel in enumerate(wanted)]
        top += 1 + HEIGHT * -(-len(wanted) // PER_ROW)
    return {
        "title": "Onsale",
        "uid": "onsale",
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, start=1)],
    }


def _wanted(board: Board) -> list[dict[str, Any]]:
    panels = [_panel(metric) for metric in METRICS if metric.board is board]
    shares = [_share(metric, alarm) for metric, alarm in ALARMS if metric.board is board and alarm.share_of]
    return panels + shares


def _panel(metric: Metric) -> dict[str, Any]:
    name, by = prometheus_name(metric), ", ".join(metric.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in metric.labels)
    match metric.kind:
        case Kind.COUNTER:
            targets = [(f"sum by ({by}) (rate({name}[$__rate_interval]))", legend)]
        case Kind.GAUGE:
            targets = [(name, legend)]
        case _:
            buckets = f"sum by ({', '.join(['le', *metric.labels])}) (rate({name}_bucket[$__rate_interval]))"
            targets = [
                (f"histogram_quantile({share}, {buckets})", f"p{share * 100:.0f} {legend}") for share in (0.5, 0.99)
            ]
    unit = "ops" if metric.kind is Kind.COUNTER else _UNITS[metric.unit]
    return _drawn(name, metric.meaning, unit, targets)


def _share(metric: Metric, alarm: Alarm) -> dict[str, Any]:
    part, whole = prometheus_name(metric), prometheus_name(BY_NAME[alarm.share_of or ""])
    expression = f"sum(rate({part}[$__rate_interval])) / sum(rate({whole}[$__rate_interval]))"
    panel = _drawn(alarm.name, alarm.meaning, "percentunit", [(expression, alarm.name)])
    panel["fieldConfig"]["defaults"]["thresholds"] = {
        "mode": "absolute",
        "steps": [{"color": "green", "value": None}, {"color": "red", "value": alarm.above}],
    }
    return panel


def _drawn(title: str, meaning: str, unit: str, targets: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": title,
        "description": meaning,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "expr": expression, "legendFormat": legend.strip() or title}
            for number, (expression, legend) in enumerate(targets)
        ],
    }


def _placed(panel: dict[str, Any], number: int, top: int) -> dict[str, Any]:
    row, column = divmod(number, PER_ROW)
    return {**panel, "gridPos": {"x": column * WIDTH, "y": top + row * HEIGHT, "w": WIDTH, "h": HEIGHT}}
