"""A request to DynamoDB and its end, as the ledger of attempts counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.domain.errors import OnsaleError, Throttled
from shared.domain.throttling.request import (
    OK,
    SEVERAL,
    UNPROCESSED,
    Ending,
    Request,
    Throttle,
    read_resource,
    safe_place,
    table_role,
)
from shared.stores.dynamo.errors import Cancelled, ConditionFailed

_OPERATIONS = {
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "get_item": "GetItem",
    "query": "Query",
    "batch_get_item": "BatchGetItem",
    "transact_get_items": "TransactGetItems",
    "transact_write_items": "TransactWriteItems",
}
_READS = frozenset({"get_item", "query", "batch_get_item", "transact_get_items"})
_THROTTLED = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"})
Body = Mapping[str, Any]


def request_of(operation: str, body: Body) -> Request:
    """Read a request's table, index and keys out of its body."""
    targets = _targets(operation, body)
    tables = sorted({table for table, _ in targets}) or ["other"]
    places = {key for _, key in targets}
    # A transaction costs double: "Read/write capacity mode", DynamoDB Developer Guide.
    units = 2.0 if operation.startswith("transact") else 1.0
    demand: dict[str, float] = {}
    for _, key in targets:
        demand[key] = demand.get(key, 0.0) + units
    return Request(
        operation=_OPERATIONS.get(operation, operation),
        # The orders' partitions are what a sale is planned by: a transaction that touches them counts as theirs.
        table="orders" if "orders" in tables else tables[0],
        index=str(body.get("IndexName", "")),
        place=next(iter(places)) if len(places) == 1 else SEVERAL,
        writes=operation not in _READS,
        demand=demand,
    )


def ending_of(answer: Body) -> Ending:
    """Tell what an answer means; keys that a batch left unread were throttled."""
    if not answer.get("UnprocessedKeys"):
        return OK
    left = [(table_role(table), _key(key)) for table, part in answer["UnprocessedKeys"].items() for key in part["Keys"]]
    place = left[0][1] if len({key for _, key in left}) == 1 else SEVERAL
    return Ending("throttled", Throttle(left[0][0], "", place, UNPROCESSED))


def failure_of(request: Request, operation: str, body: Body, error: Exception, raw: Body) -> Ending:
    """Tell what an error means; `raw` is the service's own answer, empty when there was none.

    A condition that did not hold is an answer. A transaction that was throttled names the action in its place.
    """
    cause = error.hindrance if isinstance(error, Cancelled) else error
    if isinstance(cause, Throttled):
        return Ending("throttled", _throttle(request, operation, body, cause, raw))
    if isinstance(error, ConditionFailed | Cancelled) and cause in {None, error}:
        return OK
    return Ending(cause.code if isinstance(cause, OnsaleError) else "unexpected")


def _throttle(request: Request, operation: str, body: Body, cause: Throttled, raw: Body) -> Throttle:
    codes = [reason.get("Code") for reason in raw.get("CancellationReasons", ())]
    at = next((number for number, code in enumerate(codes) if code in _THROTTLED), None)
    if at is not None:
        table, key = _targets(operation, body)[at]
        return Throttle(table, "", key, cause.reason)
    table, index = read_resource(cause.resource) or (request.table, request.index)
    return Throttle(table, index, request.place, cause.reason)


def _targets(operation: str, body: Body) -> list[tuple[str, str]]:
    """List table role and partition key of whatever the request touches, in order."""
    if operation == "batch_get_item":
        asked = body["RequestItems"].items()
        return [(table_role(table), _key(key)) for table, part in asked for key in part["Keys"]]
    if operation in {"transact_write_items", "transact_get_items"}:
        return [_target(action) for part in body["TransactItems"] for action in part.values()]
    return [_target(body)]


def _target(body: Body) -> tuple[str, str]:
    if "KeyConditionExpression" in body:
        key = body["ExpressionAttributeValues"].get(":pk", {}).get("S", "")
    else:
        return table_role(body["TableName"]), _key(body.get("Item") or body.get("Key") or {})
    return table_role(body["TableName"]), safe_place(key)


def _key(item: Body) -> str:
    return safe_place(str(item.get("pk", {}).get("S", "")))
