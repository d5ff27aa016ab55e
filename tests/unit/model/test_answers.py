"""Refusals are what DynamoDB's own client library understands."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import botocore.session
from botocore.parsers import create_parser

from infra.model.answers import cancelled, throttled, unprocessed_items, unprocessed_keys
from infra.model.reasons import ThrottlingReason

HOT = ThrottlingReason("TableWriteKeyRangeThroughputExceeded", "arn:table/t")
INDEX = ThrottlingReason("IndexWriteKeyRangeThroughputExceeded", "arn:table/t/index/work")
EMPTY = ThrottlingReason("TableWriteProvisionedThroughputExceeded", "arn:table/t")


@cache
def _service() -> Any:  # noqa: ANN401 - botocore has no public type for it
    return botocore.session.get_session().get_service_model("dynamodb")


def parsed(body: dict[str, Any], operation: str = "PutItem") -> dict[str, Any]:
    """An answer as botocore's parser gives it to a client, modelled members included."""
    service = _service()
    raw = {"body": json.dumps(body).encode(), "headers": {}, "status_code": 400}
    answer: dict[str, Any] = create_parser("json").parse(raw, service.operation_model(operation).output_shape)
    shape = service.shape_for_error_code(answer["Error"]["Code"])
    answer.update(create_parser("json").parse(raw, shape))
    return answer


def test_an_on_demand_throttle_names_reason_and_resource() -> None:
    """`ThrottlingException` with the table's ARN."""
    answer = parsed(throttled([HOT]))
    assert answer["Error"]["Code"] == "ThrottlingException"
    assert answer["throttlingReasons"] == [HOT.as_json()]


def test_a_provisioned_throttle_is_the_other_exception() -> None:
    """`ProvisionedThroughputExceededException`, whose member is spelt with a capital."""
    answer = parsed(throttled([EMPTY], provisioned_table=True))
    assert answer["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert answer["ThrottlingReasons"] == [EMPTY.as_json()]


def test_back_pressure_names_the_index() -> None:
    """The index's ARN, and a message about indexes."""
    answer = parsed(throttled([INDEX]))
    assert answer["throttlingReasons"][0]["resource"] == INDEX.resource
    assert "global secondary indexes" in answer["Error"]["Message"]


def test_a_cancelled_transaction_has_a_reason_for_each_action() -> None:
    """In order of the request; the innocent have `None`."""
    answer = parsed(cancelled([(), (HOT,)]), "TransactWriteItems")
    assert answer["Error"]["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in answer["CancellationReasons"]] == ["None", "ThrottlingError"]
    assert answer["Error"]["Message"].endswith("[None, ThrottlingError]")
    assert cancelled([(EMPTY,)])["CancellationReasons"][0]["Code"] == "ProvisionedThroughputExceeded"


def test_unprocessed_parts_can_be_sent_again_as_they_are() -> None:
    """Grouped by table, options kept."""
    assert unprocessed_items([("a", {"PutRequest": {}}), ("b", {"DeleteRequest": {}}), ("a", {"PutRequest": {}})]) == {
        "a": [{"PutRequest": {}}, {"PutRequest": {}}],
        "b": [{"DeleteRequest": {}}],
    }
    wanted = {"a": {"Keys": [{"k": {"S": "1"}}, {"k": {"S": "2"}}], "ConsistentRead": True}}
    assert unprocessed_keys([("a", {"k": {"S": "2"}})], wanted) == {
        "a": {"ConsistentRead": True, "Keys": [{"k": {"S": "2"}}]}
    }
