"""One list of metrics, and everything that is made from it."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

import pytest

from infra.metrics_docs.__main__ import README, fragments
from infra.metrics_docs.cloudwatch import alarms, dashboard, logical_name
from infra.metrics_docs.grafana import grafana_dashboard
from infra.metrics_docs.table import NoMarkers, metrics_table, with_table
from shared.metering.emf import SERVICE, dimension_sets, send_emf
from shared.metering.meter import Meter
from shared.metrics import ALARMS, BY_NAME, METRICS, NAMESPACE, Board, Kind, Metric, Unit, prometheus_name

# What is one of many is never a label.
MANY = re.compile(r"order|event|buyer|shard|key|place|\bid\b|_id|name|token")
SENT = [metric for metric in METRICS if not metric.local]


def test_what_is_committed_is_made_from_the_list() -> None:
    """`make metrics` changes nothing: dashboards, alarms, and the README's table."""
    assert {path.name: path.read_text(encoding="utf-8") for path in fragments()} == {
        path.name: text for path, text in fragments().items()
    }
    readme = README.read_text(encoding="utf-8")
    assert with_table(readme) == readme


def test_names_are_unique_and_labels_have_few_values() -> None:
    """In every form of their names; no id is ever a label."""
    assert len({metric.name for metric in METRICS}) == len(METRICS) == len(BY_NAME)
    assert len({prometheus_name(metric) for metric in METRICS}) == len(METRICS)
    assert len({alarm.name for _, alarm in ALARMS}) == len(ALARMS)
    assert not [label for metric in METRICS for label in metric.labels if MANY.search(label)]
    assert all(metric.name.endswith("_s") == (metric.unit is Unit.SECONDS) for metric in METRICS)


def names_in(text: str, metrics: list[Metric]) -> set[str]:
    """Return those metrics whose own name stands in a text as a word."""
    return {metric.name for metric in metrics if re.search(rf"(?<![\w-]){metric.name}(?![\w-])", text)}


def test_both_dashboards_together_show_every_metric() -> None:
    """Each on the board it belongs to; those of one machine on none of AWS."""
    for board in Board:
        body = dashboard(board)
        wanted = {metric.name for metric in SENT if metric.board is board}
        shown = {widget["properties"]["title"] for widget in body["widgets"]}
        shares = {alarm.name for metric, alarm in ALARMS if alarm.share_of and metric.board is board}
        assert shown == wanted | shares
        places = [(widget["x"], widget["y"]) for widget in body["widgets"]]
        assert len(set(places)) == len(places)


def test_every_alarm_watches_something_that_is_sent() -> None:
    """Its dimensions are one of the sets that EMF lines name, and it says what to do."""
    resources = alarms()["Resources"]
    assert set(resources) == {logical_name(alarm) for metric, alarm in ALARMS if not metric.local}
    for metric, alarm in ALARMS:
        properties = resources[logical_name(alarm)]["Properties"]
        assert alarm.meaning in properties["AlarmDescription"]
        assert alarm.look in properties["AlarmDescription"]
        watched = properties.get("Metrics", [])
        stats = [query["MetricStat"]["Metric"] for query in watched if "MetricStat" in query] or [properties]
        assert {stat["MetricName"] for stat in stats} == {metric.name} | ({alarm.share_of} - {None})
        for stat in stats:
            labels = tuple(entry["Name"] for entry in stat["Dimensions"] if entry["Name"] != SERVICE)
            assert labels in dimension_sets(BY_NAME[stat["MetricName"]])


def test_grafana_shows_every_metric_by_its_name_at_the_endpoint() -> None:
    """And asks for no label that the metric has not."""
    board = grafana_dashboard()
    panels = {panel["title"]: panel for panel in board["panels"] if panel["type"] != "row"}
    assert {prometheus_name(metric) for metric in METRICS} <= set(panels)
    for metric in METRICS:
        for target in panels[prometheus_name(metric)]["targets"]:
            assert prometheus_name(metric) in target["expr"]
            grouped = re.search(r"sum by \((.*?)\)", target["expr"])
            assert grouped is None or set(filter(None, grouped[1].split(", "))) <= {"le", *metric.labels}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert json.loads(json.dumps(board)) == board


def test_the_table_names_every_metric_with_its_meaning_and_alarms() -> None:
    """A line each, in the order of the list."""
    lines = metrics_table().splitlines()[2:]
    assert len(lines) == len(METRICS)
    for line, metric in zip(lines, METRICS, strict=True):
        assert f"`{metric.name}`" in line
        assert f"`{prometheus_name(metric)}`" in line
        assert metric.meaning in line
        assert all(f"`{alarm.name}`" in line for alarm in metric.alarms)
        assert line.count("|") == 7


@pytest.mark.parametrize("text", ["", "<!-- metrics:begin -->\n", "<!-- metrics:end --><!-- metrics:begin -->\n"])
def test_a_text_without_markers_is_left_alone(text: str) -> None:
    """The writer says so instead of guessing."""
    with pytest.raises(NoMarkers):
        with_table(text)


def emf_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Read what was printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_metric_is_sent_as_the_list_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, unit and dimension sets of each EMF line are those of the list; nothing else is sent, and nothing twice."""
    meter = Meter()
    for metric in SENT:
        labels = ["a"] * len(metric.labels)
        match metric.kind:
            case Kind.COUNTER:
                meter.count(metric, *labels, by=2)
            case Kind.GAUGE:
                meter.put(metric, 7, *labels)
            case _:
                meter.time(metric, 0.5, *labels)
                meter.time(metric, 0.25, *labels)

    send_emf(meter, "onsale-test")
    sent = {}
    for line in emf_lines(capsys):
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        (definition,) = directive["Metrics"]
        metric = BY_NAME[definition["Name"]]
        assert directive["Namespace"] == NAMESPACE
        assert definition["Unit"] == metric.unit
        assert sorted(sorted(one) for one in directive["Dimensions"]) == sorted(
            sorted({SERVICE, *labels}) for labels in dimension_sets(metric)
        )
        assert line[SERVICE] == "onsale-test"
        sent[metric.name] = line[metric.name]
    expected = {Kind.COUNTER: [2.0], Kind.GAUGE: [7.0], Kind.TIMES: [0.5, 0.25]}
    assert sent == {metric.name: expected[metric.kind] for metric in SENT}

    send_emf(meter, "onsale-test")
    again = {line["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Name"] for line in emf_lines(capsys)}
    assert again == {metric.name for metric in SENT if metric.kind is Kind.GAUGE}


def test_a_list_of_durations_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """A line takes at most a hundred values, whatever the load; the distribution itself counts them all."""
    meter = Meter()
    metric = next(metric for metric in METRICS if metric.kind is Kind.TIMES)
    for number in range(1_000):
        meter.time(metric, number / 1_000, *["a"] * len(metric.labels))
    send_emf(meter, "x")

    (line,) = emf_lines(capsys)
    assert len(line[metric.name]) == 100
    (series,) = chain.from_iterable(found.values() for found in meter.read().values())
    assert series.count == 1_000
