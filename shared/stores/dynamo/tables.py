"""The tables as data: what a deployment declares, and what a local or test run creates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from shared.stores.dynamo.errors import answer_error, transport_error

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

WORK_INDEX = "work"
# What the index shows besides its keys: only what never changes as long as the order stands in a lane, so that no later
# write pays for it.
PROJECTED = ("buyer", "demand", "accepted_at", "older", "trace")


class Tables(Struct, frozen=True):
    """The names of one deployment's tables."""

    prefix: str

    @property
    def orders(self) -> str:
        """Orders, an item each, and the index of what is still to do; with a stream."""
        return f"{self.prefix}-orders"

    @property
    def inventory(self) -> str:
        """Pools, slices and the counters of buyers, each in a partition of its own."""
        return f"{self.prefix}-inventory"

    @property
    def control(self) -> str:
        """Sales, notices, members and the audit trail."""
        return f"{self.prefix}-control"

    @property
    def stats(self) -> str:
        """Counts of the stream, and buyers to slow down; `expires_at` is its time to live on AWS."""
        return f"{self.prefix}-stats"

    @property
    def buyer_orders(self) -> str:
        """Buyers' copies of their orders, written from the stream."""
        return f"{self.prefix}-buyer-orders"


def table_definitions(tables: Tables) -> list[dict[str, Any]]:
    """Write the tables as `CreateTable` takes them."""
    return [
        {
            **_table(tables.orders, "pk", "sk", others=("work",)),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": WORK_INDEX,
                    "KeySchema": _key_schema("pk", "work"),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(PROJECTED)},
                }
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
        _table(tables.inventory, "pk"),
        _table(tables.control, "pk", "sk"),
        _table(tables.stats, "pk", "sk"),
        _table(tables.buyer_orders, "pk", "sk"),
    ]


def create_tables(client: DynamoDBClient, tables: Tables) -> None:
    """Create what is not there yet, and wait until it can be used; Unavailable when the service does not answer."""
    try:
        for definition in table_definitions(tables):
            _create(client, definition)
        waiter = client.get_waiter("table_exists")
        for definition in table_definitions(tables):
            waiter.wait(TableName=definition["TableName"], WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    except ClientError as error:
        raise answer_error(error, writes=True, tables=()) from error
    except BotoCoreError as error:
        raise transport_error(error, writes=True, endpoint=client.meta.endpoint_url) from error


def delete_tables(client: DynamoDBClient, tables: Tables) -> None:
    """Delete the tables of one prefix: for tests and local runs."""
    for definition in table_definitions(tables):
        client.delete_table(TableName=definition["TableName"])


def _create(client: DynamoDBClient, definition: dict[str, Any]) -> None:
    try:
        client.create_table(**definition)
    except client.exceptions.ResourceInUseException:
        return


def _table(name: str, *key: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(*key),
        "AttributeDefinitions": [{"AttributeName": part, "AttributeType": "S"} for part in (*key, *others)],
    }


def _key_schema(*key: str) -> list[dict[str, str]]:
    return [{"AttributeName": part, "KeyType": kind} for part, kind in zip(key, ("HASH", "RANGE"), strict=False)]
