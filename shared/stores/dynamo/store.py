"""The whole store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.stores.dynamo.client import Calls, Noter, Observer, connect
from shared.stores.dynamo.control import Control
from shared.stores.dynamo.inventory import Inventory
from shared.stores.dynamo.orders import Orders
from shared.stores.dynamo.tables import Tables
from shared.system import SystemClock

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

    from shared.ports.exchange import Exchange
    from shared.ports.system import Clock


class DynamoStore(Orders, Inventory, Control):
    """Implements `Store` over three tables."""

    def __init__(
        self,
        client: DynamoDBClient,
        tables: Tables,
        observer: Observer | None = None,
        note: Noter | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take an open client; `observer` is told the capacity units of every call, `note` how each ended."""
        super().__init__(Calls(client, observer, note), tables, clock or SystemClock())

    def close(self) -> None:
        self._calls.close()


def open_store(
    prefix: str,
    *,
    region: str,
    endpoint_url: str | None = None,
    observer: Observer | None = None,
    note: Noter | None = None,
    clock: Clock | None = None,
    exchange: Exchange | None = None,
) -> DynamoStore:
    """Open the store over tables that exist: those of AWS, or of the server at `endpoint_url`.

    Requests that may not stop their thread are sent by `exchange`.
    """
    return DynamoStore(connect(region, endpoint_url, exchange), Tables(prefix), observer, note, clock)
