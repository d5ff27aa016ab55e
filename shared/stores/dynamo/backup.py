"""Backups of the DynamoDB store: items as they are, read by pages and written by batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Throttled
from shared.domain.order_id import partition_key
from shared.ports.backup import Item, ItemPage
from shared.stores.dynamo import seats
from shared.stores.dynamo.client import Calls, connect
from shared.stores.dynamo.expressions import query
from shared.stores.dynamo.tables import Tables
from shared.stores.wire import from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.domain.inventory import PoolState

# One batch write takes so many items, and may leave some of them unwritten.
MAX_ITEMS = 25
MAX_ROUNDS = 8


class DynamoBackup:
    """Implements `BackupStore`."""

    def __init__(self, calls: Calls, tables: Tables) -> None:
        self._calls = calls
        self._tables = tables

    def read_items(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> ItemPage:
        pk = partition_key(event_id, shard)
        body = query(self._tables.orders, "#pk = :pk", {"pk": pk}) | {"ConsistentRead": True, "Limit": limit}
        if cursor is not None:
            body["ExclusiveStartKey"] = to_wire({"pk": pk, "sk": cursor})
        answer = self._calls.read("query", body)
        last = answer.get("LastEvaluatedKey")
        return ItemPage(tuple(from_wire(item) for item in answer["Items"]), last["sk"]["S"] if last else None)

    def put_items(self, items: Sequence[Item]) -> None:
        self._put(self._tables.orders, items)

    def put_pools(self, event_id: str, pools: Sequence[PoolState]) -> None:
        self._put(self._tables.inventory, [item for pool in pools for item in seats.pool_items(event_id, pool)])

    def put_counts(self, event_id: str, counts: Mapping[str, int]) -> None:
        items = [{**seats.buyer_key(event_id, buyer), "taken": taken} for buyer, taken in counts.items()]
        self._put(self._tables.inventory, items)

    def close(self) -> None:
        self._calls.close()

    def _put(self, table: str, items: Sequence[Item]) -> None:
        for start in range(0, len(items), MAX_ITEMS):
            asked = {table: [{"PutRequest": {"Item": to_wire(item)}} for item in items[start : start + MAX_ITEMS]]}
            for _ in range(MAX_ROUNDS):
                answer = self._calls.write("batch_write_item", {"RequestItems": asked})
                asked = answer.get("UnprocessedItems") or {}
                if not asked:
                    break
            else:
                raise Throttled(reason="UnprocessedItems", resource=table)


def open_backup(prefix: str, *, region: str, endpoint_url: str | None) -> DynamoBackup:
    """Open backups over tables that exist."""
    return DynamoBackup(Calls(connect(region, endpoint_url)), Tables(prefix))
