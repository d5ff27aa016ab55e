"""CloudWatch dashboards and alarms, as a CloudFormation fragment and as dashboard bodies.

Every metric has the dimension `service` (`onsale-STAGE`), and its labels beside it; `shared.metering.emf` says which
sets are sent. Shapes: "Dashboard body structure and syntax" and AWS::CloudWatch::Alarm.
"""

from __future__ import annotations

from typing import Any

from shared.metering.emf import SERVICE
from shared.metrics import ALARMS, BY_NAME, METRICS, NAMESPACE, Alarm, Board, Kind, Metric

# Placeholders that CloudFormation's Fn::Sub fills in; the stack's parameter is called Stage.
STAGE_SERVICE = f"{NAMESPACE}-${{Stage}}"
REGION = "${AWS::Region}"
PERIOD_S = 60
WIDTH, HEIGHT, PER_ROW = 12, 6, 2
_STATISTIC = {Kind.COUNTER: "Sum", Kind.GAUGE: "Maximum", Kind.TIMES: "p99"}


def dashboard(board: Board) -> dict[str, Any]:
    """Return a dashboard's body: a widget for each metric of a board, with its alarms' limits as lines."""
    metrics = [metric for metric in METRICS if metric.board is board and not metric.local]
    widgets = [_widget(metric, number) for number, metric in enumerate(metrics)]
    return {"widgets": [*widgets, *_rates(board, len(widgets))]}


def alarms() -> dict[str, Any]:
    """Return all alarms as CloudFormation resources, by logical name; `AlarmTopic` is where they ring."""
    return {"Resources": {logical_name(alarm): _alarm(metric, alarm) for metric, alarm in ALARMS if not metric.local}}


def logical_name(alarm: Alarm) -> str:
    """Return an alarm's name as CloudFormation takes it."""
    return f"{''.join(part.title() for part in alarm.name.split('-'))}Alarm"


def _widget(metric: Metric, number: int) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "title": metric.name,
        "region": REGION,
        "view": "timeSeries",
        "period": PERIOD_S,
        "stat": _STATISTIC[metric.kind],
        "metrics": _series(metric),
    }
    limits = [alarm for alarm in metric.alarms if alarm.share_of is None]
    if limits:
        properties["annotations"] = {
            "horizontal": [{"label": alarm.name, "value": alarm.above} for alarm in limits],
        }
    return _placed({"type": "metric", "properties": properties}, number)


def _series(metric: Metric) -> list[list[Any]]:
    if not metric.labels:
        return [[NAMESPACE, metric.name, SERVICE, STAGE_SERVICE]]
    dimensions = ",".join([NAMESPACE, SERVICE, *metric.labels])
    search = f'SEARCH(\'{{{dimensions}}} MetricName="{metric.name}" {SERVICE}="{STAGE_SERVICE}"\', '
    return [[{"expression": f"{search}'{_STATISTIC[metric.kind]}', {PERIOD_S})", "label": "", "id": "e1"}]]


def _rates(board: Board, first: int) -> list[dict[str, Any]]:
    """Draw the shares that alarms watch, a widget each."""
    shares = [
        (metric, alarm) for metric, alarm in ALARMS if metric.board is board and alarm.share_of and not metric.local
    ]
    return [_placed(_share(metric, alarm), first + number) for number, (metric, alarm) in enumerate(shares)]


def _share(metric: Metric, alarm: Alarm) -> dict[str, Any]:
    of = BY_NAME[alarm.share_of or ""]
    return {
        "type": "metric",
        "properties": {
            "title": alarm.name,
            "region": REGION,
            "view": "timeSeries",
            "period": PERIOD_S,
            "stat": "Sum",
            "metrics": [
                [{"expression": "part / FILL(whole, 1)", "label": alarm.name, "id": "share"}],
                [NAMESPACE, metric.name, SERVICE, STAGE_SERVICE, {"id": "part", "visible": False}],
                [NAMESPACE, of.name, SERVICE, STAGE_SERVICE, {"id": "whole", "visible": False}],
            ],
            "annotations": {"horizontal": [{"label": alarm.name, "value": alarm.above}]},
        },
    }


def _placed(widget: dict[str, Any], number: int) -> dict[str, Any]:
    row, column = divmod(number, PER_ROW)
    return {"x": column * WIDTH, "y": row * HEIGHT, "width": WIDTH, "height": HEIGHT, **widget}


def _alarm(metric: Metric, alarm: Alarm) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "AlarmName": {"Fn::Sub": f"{STAGE_SERVICE}-{alarm.name}"},
        "AlarmDescription": f"{alarm.meaning} First look: {alarm.look}.",
        "AlarmActions": [{"Ref": "AlarmTopic"}],
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": alarm.above,
        "EvaluationPeriods": 1,
        # Nobody counts when nothing happens.
        "TreatMissingData": "notBreaching",
    }
    period_s = alarm.minutes * 60
    if alarm.share_of is None:
        return {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": properties | _of(metric, alarm) | {"Period": period_s},
        }
    stats = (("part", metric.name), ("whole", alarm.share_of))
    queries: list[dict[str, Any]] = [{"Id": "share", "Expression": "part / FILL(whole, 1)", "Label": alarm.name}]
    queries += [
        {
            "Id": name,
            "ReturnData": False,
            "MetricStat": {
                "Metric": {"Namespace": NAMESPACE, "MetricName": of, "Dimensions": _dimensions(alarm)},
                "Period": period_s,
                "Stat": "Sum",
            },
        }
        for name, of in stats
    ]
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": properties | {"Metrics": queries}}


def _of(metric: Metric, alarm: Alarm) -> dict[str, Any]:
    return {
        "Namespace": NAMESPACE,
        "MetricName": metric.name,
        "Dimensions": _dimensions(alarm),
        "Statistic": "Sum" if metric.kind is Kind.COUNTER else "Maximum",
    }


def _dimensions(alarm: Alarm) -> list[dict[str, Any]]:
    dimensions: list[dict[str, Any]] = [{"Name": SERVICE, "Value": {"Fn::Sub": STAGE_SERVICE}}]
    return dimensions if alarm.where is None else [*dimensions, {"Name": alarm.where[0], "Value": alarm.where[1]}]
