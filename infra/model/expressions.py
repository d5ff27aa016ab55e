"""As much of DynamoDB's expression language as it takes to know which keys a request touches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.model.item_size import AttributeValue

_CLAUSE = re.compile(r"\b(SET|REMOVE|ADD|DELETE)\b", re.IGNORECASE)
_TOP_COMMA = re.compile(r",(?![^()]*\))")
_VALUE = re.compile(r":[A-Za-z0-9_]+")
_NAME = r"(?P<name>[#A-Za-z_][#A-Za-z0-9_.\-]*)"
_EQUALS = re.compile(_NAME + r"\s*=\s*(?P<value>:[A-Za-z0-9_]+)")
_RANGE = re.compile(
    r"(?:begins_with\s*\(\s*)?" + _NAME + r"\s*(?:<=|>=|<|>|,|BETWEEN\b)\s*(?P<value>:[A-Za-z0-9_]+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Update:
    """What an update expression does to top-level attributes.

    changed: names it may change. assigned: those that get a value the request itself holds.
    removed: those that go away.
    """

    changed: frozenset[str]
    assigned: Mapping[str, AttributeValue]
    removed: frozenset[str]


def parse_update(request: Mapping[str, Any]) -> Update:
    """Read `UpdateExpression` or the legacy `AttributeUpdates` of a request.

    Source: "Using update expressions in DynamoDB".
    """
    if "AttributeUpdates" in request:
        return _legacy_update(request["AttributeUpdates"])
    parts = _CLAUSE.split(request.get("UpdateExpression", ""))
    names: Mapping[str, str] = request.get("ExpressionAttributeNames") or {}
    values: Mapping[str, AttributeValue] = request.get("ExpressionAttributeValues") or {}
    changed: set[str] = set()
    removed: set[str] = set()
    assigned: dict[str, AttributeValue] = {}
    for clause, content in zip(parts[1::2], parts[2::2], strict=True):
        for action in _TOP_COMMA.split(content):
            path, _, value = action.strip().partition("=" if clause.upper() == "SET" else " ")
            path = path.strip()
            top = re.split(r"[.\[]", path, maxsplit=1)[0]
            name = names.get(top, top)
            changed.add(name)
            if path != top:
                continue
            if clause.upper() == "REMOVE":
                removed.add(name)
            elif clause.upper() == "SET" and (found := _only_value(value, values)) is not None:
                assigned[name] = found
    return Update(frozenset(changed - {""}), assigned, frozenset(removed))


def _only_value(text: str, values: Mapping[str, AttributeValue]) -> AttributeValue | None:
    """The value of `:v` or `if_not_exists(path, :v)`; none for anything that is calculated."""
    text = text.strip()
    if _VALUE.fullmatch(text):
        return values.get(text)
    if text.startswith("if_not_exists") and text.endswith(")") and len(_VALUE.findall(text)) == 1:
        return values.get(_VALUE.findall(text)[0])
    return None


def _legacy_update(updates: Mapping[str, Mapping[str, Any]]) -> Update:
    assigned, removed = {}, set()
    for name, update in updates.items():
        if update.get("Action", "PUT") == "PUT" and "Value" in update:
            assigned[name] = update["Value"]
        elif update.get("Action") == "DELETE" and "Value" not in update:
            removed.add(name)
    return Update(frozenset(updates), assigned, frozenset(removed))


def key_condition(request: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The values that a query compares its keys with, by attribute name; of a range its lower end.

    Source: "Key condition expressions for the Query operation in DynamoDB".
    """
    if "KeyConditions" in request:
        return {
            n: c["AttributeValueList"][0] for n, c in request["KeyConditions"].items() if c.get("AttributeValueList")
        }
    names: Mapping[str, str] = request.get("ExpressionAttributeNames") or {}
    values: Mapping[str, AttributeValue] = request.get("ExpressionAttributeValues") or {}
    found: dict[str, AttributeValue] = {}
    for pattern in (_EQUALS, _RANGE):
        for match in pattern.finditer(request.get("KeyConditionExpression", "")):
            name, value = match["name"], values.get(match["value"])
            if value is not None:
                found.setdefault(names.get(name, name), value)
    return found
