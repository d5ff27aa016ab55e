"""DynamoDB's own words for a refusal, as bodies of its JSON protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.model.reasons import LimitType, Resource, ThrottlingReason

_PROVISIONED_TABLE = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_PROVISIONED_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes "
    "with the UpdateTable API"
)
_ON_DEMAND_TABLE = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table "
    "or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
_ON_DEMAND_INDEX = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically "
    "scaling your index so please try again shortly."
)

Body = dict[str, Any]


def _is_index(reasons: Sequence[ThrottlingReason]) -> bool:
    return all(reason.reason.startswith(Resource.INDEX) for reason in reasons)


def _message(reasons: Sequence[ThrottlingReason], *, provisioned: bool) -> str:
    if provisioned:
        return _PROVISIONED_INDEX if _is_index(reasons) else _PROVISIONED_TABLE
    return _ON_DEMAND_INDEX if _is_index(reasons) else _ON_DEMAND_TABLE


def is_provisioned(reasons: Sequence[ThrottlingReason], *, provisioned_table: bool) -> bool:
    """Which of the two exceptions names a refusal: the provisioned one if the table or the limit is."""
    return provisioned_table or any(reason.reason.endswith(LimitType.PROVISIONED) for reason in reasons)


def throttled(reasons: Sequence[ThrottlingReason], *, provisioned_table: bool = False) -> Body:
    """Body of a 400 that refuses one request.

    On demand it is a `ThrottlingException`, provisioned a `ProvisionedThroughputExceededException`; the
    member is spelt differently in the two. Sources: API reference, "ThrottlingReason"; the service model of
    botocore 1.44.
    """
    listed = [reason.as_json() for reason in reasons]
    provisioned = is_provisioned(reasons, provisioned_table=provisioned_table)
    message = _message(reasons, provisioned=provisioned)
    if provisioned:
        return {
            "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
            "message": message,
            "ThrottlingReasons": listed,
        }
    return {
        "__type": "com.amazon.coral.availability#ThrottlingException",
        "message": message,
        "throttlingReasons": listed,
    }


def cancelled(groups: Sequence[Sequence[ThrottlingReason]], *, provisioned_table: bool = False) -> Body:
    """Body of a 400 that cancels a transaction: one reason per action, in order; `None` for the innocent.

    Source: API reference, "TransactWriteItems" and "TransactionCanceledException".
    """
    reasons = []
    for group in groups:
        if not group:
            reasons.append({"Code": "None"})
            continue
        provisioned = is_provisioned(group, provisioned_table=provisioned_table)
        code = "ProvisionedThroughputExceeded" if provisioned else "ThrottlingError"
        reasons.append({"Code": code, "Message": _message(group, provisioned=provisioned)})
    codes = ", ".join(reason["Code"] for reason in reasons)
    return {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        "CancellationReasons": reasons,
    }


def unprocessed_items(refused: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    """The `UnprocessedItems` of a batch write, ready to be sent again. Source: API reference, "BatchWriteItem"."""
    by_table: dict[str, list[Mapping[str, Any]]] = {}
    for table, element in refused:
        by_table.setdefault(table, []).append(element)
    return by_table


def unprocessed_keys(
    refused: Sequence[tuple[str, Mapping[str, Any]]], wanted: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The `UnprocessedKeys` of a batch get, with the options asked for. Source: API reference, "BatchGetItem"."""
    by_table: dict[str, dict[str, Any]] = {}
    for table, key in refused:
        rest = {name: value for name, value in wanted[table].items() if name != "Keys"}
        by_table.setdefault(table, {**rest, "Keys": []})["Keys"].append(key)
    return by_table
