"""Buyers' copies of their orders in a DynamoDB table of their own, `PREFIX-buyer-orders`.

A copy lies under its buyer and the order's time of acceptance, so a page of a buyer's list is one query. How far each
stream shard has come lies beside them under a key that no buyer can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shared.ports.buyer_orders import BuyerOrder, BuyerOrderPage
from shared.stores.buyer_order_items import buyer_order_item, check_cursor, check_put, read_buyer_order
from shared.stores.dynamo.client import Calls, connect
from shared.stores.dynamo.errors import ConditionFailed
from shared.stores.dynamo.expressions import put, query
from shared.stores.dynamo.tables import Tables
from shared.stores.wire import from_wire, to_wire

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

    from shared.stores.dynamo.client import Observer
    from shared.stores.wire import Item

# Longer than any buyer's name (a token's subject has at most 256 bytes).
PROGRESS = "progress" * 40
# Writes under way at the same time; a conditional write has no batch form.
FAN_OUT = 8


class DynamoBuyerOrders:
    """Implements `BuyerOrdersStore` over one table."""

    def __init__(self, client: DynamoDBClient, table: str, observer: Observer | None = None) -> None:
        """Take an open client; `observer` is told the capacity units of every call."""
        self._calls = Calls(client, observer)
        self._table = table

    def put(self, orders: Sequence[BuyerOrder]) -> None:
        check_put(orders)
        items = [buyer_order_item(order) for order in orders]
        with ThreadPoolExecutor(FAN_OUT) as threads:
            list(threads.map(lambda item: self._put_newer(item, "rev"), items))

    def list_orders(self, buyer_id: str, *, limit: int, cursor: str | None = None) -> BuyerOrderPage:
        body = query(self._table, "#pk = :pk", {"pk": buyer_id}) | {"ScanIndexForward": False, "Limit": limit}
        if cursor is not None:
            body["ExclusiveStartKey"] = to_wire({"pk": buyer_id, "sk": check_cursor(cursor)})
        answer = self._calls.read("query", body)
        last = answer.get("LastEvaluatedKey")
        orders = tuple(read_buyer_order(from_wire(item)) for item in answer["Items"])
        return BuyerOrderPage(orders, last["sk"]["S"] if last else None)

    def note_progress(self, stream_shard: str, newest_ms: int) -> None:
        self._put_newer({"pk": PROGRESS, "sk": stream_shard, "newest": newest_ms}, "newest")

    def progress_ms(self) -> int | None:
        body = query(self._table, "#pk = :pk", {"pk": PROGRESS})
        newest: int | None = None
        while True:
            answer = self._calls.read("query", body)
            for item in answer["Items"]:
                newest = max(newest or 0, int(from_wire(item)["newest"]))
            if "LastEvaluatedKey" not in answer:
                return newest
            body = {**body, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def close(self) -> None:
        self._calls.close()

    def _put_newer(self, item: Item, name: str) -> None:
        """Write an item unless the same or a later one stands, by the number called `name`."""
        condition = f"attribute_not_exists(#pk) OR #{name} < :new"
        try:
            self._calls.write("put_item", put(self._table, item, condition, {"new": item[name]}))
        except ConditionFailed:
            return


def open_dynamo_buyer_orders(prefix: str, *, region: str, endpoint_url: str | None) -> DynamoBuyerOrders:
    """Open the copies over a table that exists."""
    return DynamoBuyerOrders(connect(region, endpoint_url), Tables(prefix).buyer_orders)
