"""The template against what it must agree with: the tables as data, the functions' triggers, the routes, the alarms."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.aws.merge import merged
from infra.aws.sam import TEMPLATE, lint
from infra.bundle.build import ENTRIES
from shared.metrics import ALARMS
from shared.stores.dynamo.tables import Tables, table_definitions

ROOT = Path(__file__).parents[2]
LIVES = 7  # functions
# Who waits for a function, and how long.
API_WAITS_S = 30
EVERY_S = {"rate(1 minute)": 60, "rate(15 minutes)": 900, "rate(1 hour)": 3600}
# What expires: statistics, and heartbeats in the control table.
EXPIRING = {"StatsTable", "ControlTable"}


def of_type(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the properties of all resources of a type."""
    return {name: one["Properties"] for name, one in resources.items() if one["Type"] == kind}


def test_linters_find_nothing() -> None:
    """cfn-lint has no finding, not even a warning."""
    assert lint() == []


def test_tables_are_those_of_the_code(resources: dict[str, Any]) -> None:
    """Keys, index, projection and stream are the same in the template and in what a local run creates."""
    wanted = {table["TableName"]: table for table in table_definitions(Tables("onsale-test"))}
    found = {}
    for table in of_type(resources, "AWS::DynamoDB::Table").values():
        name = table["TableName"]["Fn::Sub"].replace("${Stage}", "test")
        found[name] = {
            "TableName": name,
            **{part: table[part] for part in ("BillingMode", "KeySchema", "AttributeDefinitions")},
        }
        if "GlobalSecondaryIndexes" in table:
            found[name]["GlobalSecondaryIndexes"] = [
                {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
                for index in table["GlobalSecondaryIndexes"]
            ]
            found[name]["StreamSpecification"] = {"StreamEnabled": True, **table["StreamSpecification"]}

    assert found == wanted


def test_tables_are_kept_and_watched(resources: dict[str, Any]) -> None:
    """Every table can be restored, cannot be deleted by mistake, is encrypted, and shows its throttled keys."""
    for name, table in of_type(resources, "AWS::DynamoDB::Table").items():
        assert resources[name]["DeletionPolicy"] == "Retain"
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["DeletionProtectionEnabled"] == {"Ref": "DeletionProtection"}
        assert table["SSESpecification"] == {"SSEEnabled": True}
        assert ("TimeToLiveSpecification" in table) == (name in EXPIRING)
        for part in (table, *table.get("GlobalSecondaryIndexes", ())):
            assert part["ContributorInsightsSpecification"] == {"Enabled": True, "Mode": "THROTTLED_KEYS"}
            assert set(part["WarmThroughput"]) == {"ReadUnitsPerSecond", "WriteUnitsPerSecond"}


def test_every_function_keeps_its_log_for_a_while(resources: dict[str, Any]) -> None:
    """Each writes to a log group of the stack, which forgets."""
    functions = of_type(resources, "AWS::Lambda::Function")

    assert len(functions) == LIVES
    for function in functions.values():
        group = function["LoggingConfig"]["LogGroup"]["Ref"]
        assert resources[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_every_function_ends_before_its_trigger_gives_up(resources: dict[str, Any]) -> None:
    """Below 30 s behind the API, below its period on a schedule."""
    limits: dict[str, list[int]] = {}
    for rule in of_type(resources, "AWS::Events::Rule").values():
        function = rule["Targets"][0]["Arn"]["Fn::GetAtt"][0]
        limits.setdefault(function, []).append(EVERY_S[rule["ScheduleExpression"]])
    for function in ("IngestFunction", "StaffFunction"):
        limits.setdefault(function, []).append(API_WAITS_S)
    timeouts = {name: one["Timeout"] for name, one in of_type(resources, "AWS::Lambda::Function").items()}

    assert set(limits) | {"StreamFunction"} == set(timeouts)
    assert all(timeouts[name] < min(times) for name, times in limits.items())


def test_what_fails_is_kept(resources: dict[str, Any]) -> None:
    """Scheduled runs go to a queue; the stream's records, whole, to a bucket. A record that only wakes is dropped."""
    scheduled = {
        rule["Targets"][0]["Arn"]["Fn::GetAtt"][0] for rule in of_type(resources, "AWS::Events::Rule").values()
    }
    destinations = {
        one["FunctionName"]["Ref"]: one["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
        for one in of_type(resources, "AWS::Lambda::EventInvokeConfig").values()
    }
    mappings = {
        one["FunctionName"]["Ref"]: one for one in of_type(resources, "AWS::Lambda::EventSourceMapping").values()
    }
    stream, wake = mappings["StreamFunction"], mappings["DrainFunction"]

    assert destinations == dict.fromkeys(scheduled, "FailedRunsQueue")
    assert stream["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["FailedRecordsBucket", "Arn"]}
    assert stream["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert stream["BisectBatchOnFunctionError"]
    assert 0 < stream["MaximumRecordAgeInSeconds"] < 86_400
    assert stream["MaximumRetryAttempts"] > 0
    assert stream["TumblingWindowInSeconds"] > 0
    assert (wake["MaximumRetryAttempts"], wake["MaximumRecordAgeInSeconds"]) == (0, 60)


def test_every_function_has_an_alarm(resources: dict[str, Any]) -> None:
    """Its errors ring, and every alarm goes to the topic."""
    alarms = of_type(resources, "AWS::CloudWatch::Alarm")
    watched = {
        dimension["Value"]["Ref"]
        for alarm in alarms.values()
        if alarm.get("MetricName") == "Errors"
        for dimension in alarm["Dimensions"]
    }

    assert watched == set(of_type(resources, "AWS::Lambda::Function"))
    assert all(alarm["AlarmActions"] == [{"Ref": "AlarmTopic"}] for alarm in alarms.values())


def test_alarms_of_the_metrics_are_in_the_template(resources: dict[str, Any]) -> None:
    """Each alarm of the list stands there; a changed list wants `make metrics` and `python -m infra.aws.merge`."""
    text = TEMPLATE.read_text(encoding="utf-8")
    names = alarm_names(resources)

    assert merged(text) == text
    assert {alarm.name for metric, alarm in ALARMS if not metric.local} <= names


def test_every_alarm_has_an_entry_in_the_runbook(resources: dict[str, Any]) -> None:
    """What it means, where to look first, and a command, under the alarm's own name; no entry is without its alarm."""
    entries = dict(
        re.findall(r"^## `([a-z0-9-]+)`\n(.*?)(?=^## |\Z)", _runbook(), flags=re.MULTILINE | re.DOTALL),
    )

    assert set(entries) == alarm_names(resources)
    for name, entry in entries.items():
        for part in ("**Means**", "**Look**", "**Do**"):
            assert part in entry, f"{name} lacks {part}"
        assert "`" in entry.split("**Do**")[1], f"{name} names no command"


def test_a_removed_alarm_is_missed(resources: dict[str, Any]) -> None:
    """Without one of the alarms the runbook has an entry too many."""
    fewer = {name: one for name, one in resources.items() if name != "StreamAgeAlarm"}

    assert alarm_names(resources) - alarm_names(fewer) == {"stream-age"}


def test_every_route_of_the_api_is_in_the_template(template: dict[str, Any]) -> None:
    """Each path and method of the document meets a route, and asks for a token where the document does."""
    paths = template["Resources"]["Api"]["Properties"]["Body"]["paths"]
    document = json.loads((ROOT / "infra" / "openapi.json").read_text(encoding="utf-8"))
    wrong = []
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            found = _route(paths, path, method)
            token = found is not None and "Token" in found["security"][0]
            if found is None or token != bool(route.get("security")):
                wrong.append(f"{method} {path}")

    assert wrong == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_bundle_holds_what_the_template_calls(resources: dict[str, Any], entry: str) -> None:
    """Each entry of the bundle is a handler of the stack, and each handler is in the bundle."""
    handlers = {one["Handler"].removesuffix(".handler") for one in of_type(resources, "AWS::Lambda::Function").values()}

    assert entry in handlers
    assert handlers == set(ENTRIES)


def alarm_names(resources: dict[str, Any]) -> set[str]:
    """Return the alarms' names without the stage."""
    return {
        one["AlarmName"]["Fn::Sub"].removeprefix("onsale-${Stage}-")
        for one in of_type(resources, "AWS::CloudWatch::Alarm").values()
    }


def _runbook() -> str:
    return (ROOT / "infra" / "runbook.md").read_text(encoding="utf-8")


def _route(paths: dict[str, Any], path: str, method: str) -> dict[str, Any] | None:
    """Find the route as the gateway does: the full match before the greedy one."""
    shape = re.sub(r"\{[^}+]+\}", "{}", path)
    candidates = [known for known in paths if re.sub(r"\{[^}+]+\}", "{}", known) == shape]
    candidates += [
        known
        for known in sorted(paths, key=len, reverse=True)
        if known.endswith("{proxy+}")
        and re.match(re.sub(r"\{[^}]+\}", "[^/]+", known.removesuffix("{proxy+}")) + ".+", path)
    ]
    for known in candidates:
        found: dict[str, Any] | None = paths[known].get(method) or paths[known].get("x-amazon-apigateway-any-method")
        if found is not None:
            return found
    return None
