"""Writes as DynamoDB takes them, alike for a single call and for an action of a transaction.

Every attribute stands in an expression as `#name`, for many of ours (`status`, `work`, `round`) are reserved words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from shared.stores.limits import check_item
from shared.stores.wire import Item, to_wire

# The body of one call, or `{"Put": body}` and the like as an action of a transaction.
Body = dict[str, Any]

_NAME = re.compile(r"#(\w+)")


def put(table: str, item: Item, condition: str | None = None, values: Item | None = None) -> Body:
    """Write a whole item; Invalid when it is larger than an item may be."""
    check_item(item)
    return {"TableName": table, "Item": to_wire(item), **_expressions(values, ConditionExpression=condition)}


def update(table: str, key: Item, change: str, condition: str, values: Item) -> Body:
    """Change an item in place."""
    check_item(key)
    expressions = _expressions(values, UpdateExpression=change, ConditionExpression=condition)
    return {"TableName": table, "Key": to_wire(key), **expressions}


def check(table: str, key: Item, condition: str, values: Item | None = None) -> Body:
    """Hold a transaction to the state of an item that it does not write; with a delete, the item to delete."""
    return {"TableName": table, "Key": to_wire(key), **_expressions(values, ConditionExpression=condition)}


def query(table: str, condition: str, values: Item) -> Body:
    """Read items of one partition."""
    return {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": _names(condition),
        "ExpressionAttributeValues": _values(values),
    }


def _expressions(values: Item | None, **expressions: str | None) -> Body:
    """Complete expressions with their names and values; a failed condition answers with the item."""
    given = {kind: text for kind, text in expressions.items() if text is not None}
    if not given:
        return {}
    body: Body = {
        **given,
        "ExpressionAttributeNames": _names(" ".join(given.values())),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if values:
        body["ExpressionAttributeValues"] = _values(values)
    return body


@lru_cache(maxsize=256)
def _names(text: str) -> dict[str, str]:
    return {f"#{name}": name for name in _NAME.findall(text)}


def _values(values: Item) -> Item:
    return {f":{name}": value for name, value in to_wire(values).items()}
