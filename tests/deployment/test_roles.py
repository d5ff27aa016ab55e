"""Each function may do what its code does, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.all_routes import NOUNS
from tests.deployment.used_actions import BUYER_ROUTES, STAFF_ROUTES, used_actions

FUNCTIONS = (
    "IngestFunction", "StaffFunction", "StreamFunction", "MarkBotsFunction", "DrainFunction", "ReconcileFunction",
    "VerifyFunction",
)  # fmt: skip
# The name that holds another stands first.
TABLES = {
    "BuyerOrdersTable": "buyer-orders", "OrdersTable": "orders", "InventoryTable": "inventory",
    "ControlTable": "control", "StatsTable": "stats",
}  # fmt: skip
# Wildcards that AWS leaves no way around, each with its reason.
ALLOWED_WILDCARDS = {
    ("s3:PutObject", "${FailedRecordsBucket.Arn}/aws/lambda/*"): "objects of one bucket under Lambda's own prefix",
    ("ecr:GetAuthorizationToken", "*"): "the action knows no resource",
}
# What Lambda does in the function's name, by what the function has.
LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
STREAM = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}
SECRETS = {
    "IngestFunction": {"WebhookSecret", "TagSecret"},
    "DrainFunction": {"PaymentKeySecret", "TagSecret"},
    "ReconcileFunction": {"PaymentKeySecret", "TagSecret"},
    "VerifyFunction": {"PaymentKeySecret", "TagSecret"},
}


def statements(role: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a role's (action, resource) pairs, the resource as it stands in the template."""
    return [
        (action, place if isinstance(place, str) else json.dumps(place))
        for policy in role["Properties"].get("Policies", ())
        for statement in policy["PolicyDocument"]["Statement"]
        for action in _listed(statement["Action"])
        for place in _listed(statement["Resource"])
    ]


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - one or several
    return value if isinstance(value, list) else [value]


def findings(roles: dict[str, dict[str, Any]]) -> list[str]:
    """Return what is too wide in the roles, a line each."""
    found = []
    for name, role in roles.items():
        if role["Properties"].get("ManagedPolicyArns"):
            found.append(f"{name} has a managed policy")
        for action, place in statements(role):
            known = any(action == allowed and spelled in place for allowed, spelled in ALLOWED_WILDCARDS)
            if "*" in action or ("*" in place and not known):
                found.append(f"{name}: {action} on {place}")
    return found


def roles_of(resources: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return all roles by logical name."""
    return {name: one for name, one in resources.items() if one["Type"] == "AWS::IAM::Role"}


def role_of(resources: dict[str, Any], function: str) -> dict[str, Any]:
    """Return a function's role."""
    role: dict[str, Any] = resources[resources[function]["Properties"]["Role"]["Fn::GetAtt"][0]]
    return role


def table_actions(role: dict[str, Any]) -> set[tuple[str, str]]:
    """Return what a role may do with items, as (table, action)."""
    found = set()
    for action, place in statements(role):
        kind, _, verb = action.partition(":")
        if kind == "dynamodb" and action not in STREAM:
            table = next(name for name in TABLES if name in place)
            found.add((TABLES[table] + ("/work" if "/index/work" in place else ""), verb))
    return found


def test_no_role_has_a_wildcard(resources: dict[str, Any]) -> None:
    """Every action is spelled out on a named resource, save where AWS leaves no other way."""
    assert findings(roles_of(resources)) == []


def test_a_widened_role_is_found(resources: dict[str, Any]) -> None:
    """An action or a resource with a star does not pass."""
    roles = json.loads(json.dumps(roles_of(resources)))
    statement = roles["IngestRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]
    statement["Action"] = ["dynamodb:*"]
    roles["StaffRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]["Resource"] = "*"

    assert len({line.split(":")[0] for line in findings(roles)}) == 2


def test_every_route_belongs_to_one_of_the_two_doors() -> None:
    """A noun that neither names would be left out of what the doors' code does."""
    names = sorted(noun.__name__.removeprefix("ingest.routes.") for noun in NOUNS)

    assert sorted([*BUYER_ROUTES, *STAFF_ROUTES]) == names


def test_functions_do_not_share_roles(resources: dict[str, Any]) -> None:
    """Each function has a role of its own."""
    found = {name: one for name, one in resources.items() if one["Type"] == "AWS::Lambda::Function"}

    assert set(found) == set(FUNCTIONS)
    assert len({json.dumps(one["Properties"]["Role"]) for one in found.values()}) == len(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_with_tables_what_its_code_does(resources: dict[str, Any], function: str) -> None:
    """Neither more nor less: an action that no reachable code asks for fails, and so does one that is missing."""
    assert table_actions(role_of(resources, function)) == used_actions(function)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_everything_else_it_may_do_follows_from_what_it_has(resources: dict[str, Any], function: str) -> None:
    """Logs for all; streams for those that have a mapping; a queue for those that are invoked by a schedule."""
    mappings = [
        one["Properties"]
        for one in resources.values()
        if one["Type"] == "AWS::Lambda::EventSourceMapping" and one["Properties"]["FunctionName"] == {"Ref": function}
    ]
    wanted = set(LOGS)
    if mappings:
        wanted |= STREAM
    if any("DestinationConfig" in mapping for mapping in mappings):
        wanted |= {"s3:PutObject", "s3:ListBucket"}
    if f"{function}EventInvokeConfig" in resources:
        wanted |= {"sqs:SendMessage"}
    if function in SECRETS:
        wanted |= {"secretsmanager:GetSecretValue"}
    pairs = statements(role_of(resources, function))
    others = {action for action, _ in pairs if not action.startswith("dynamodb:") or action in STREAM}
    secrets = {json.loads(place)["Ref"] for action, place in pairs if action == "secretsmanager:GetSecretValue"}

    assert others == wanted
    assert secrets == SECRETS.get(function, set())


def test_containers_may_do_what_the_draining_function_does(resources: dict[str, Any]) -> None:
    """The same loop has the same permissions, wherever it runs."""
    assert table_actions(resources["WorkerRole"]) == used_actions("DrainFunction")
