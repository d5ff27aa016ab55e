"""Orders as items, one write each, and the sparse index of what is still to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.domain.order import Lane, Order, WorkHint
from shared.domain.order_id import OrderKey, partition_key
from shared.domain.times import sortable_ms
from shared.ports.orders import Accepted, HintPage, OrderPage, Saved
from shared.stores.dynamo.base import Base
from shared.stores.dynamo.errors import Cancelled, ConditionFailed
from shared.stores.dynamo.expressions import put, query
from shared.stores.dynamo.tables import WORK_INDEX
from shared.stores.items import (
    is_tombstone,
    order_item,
    read_demand,
    read_homes,
    read_order,
    standing_for,
    stored_form,
    tombstone_item,
)
from shared.stores.wire import Item, from_wire, to_wire

if TYPE_CHECKING:
    from shared.stores.dynamo.expressions import Body

# The sign after `#` in UTF-8: a bound above every key that continues with `#`.
_AFTER_HASH = "$"


class Orders(Base):
    """Implements `OrderStore`."""

    def accept(self, order: Order) -> Accepted:
        try:
            self._calls.write("put_item", put(self._tables.orders, order_item(order), "attribute_not_exists(#pk)"))
        except ConditionFailed as failure:
            stored = _stored(failure.item)
            return Accepted(stored, created=bool(order.op) and stored.op == order.op)
        return Accepted(order, created=True)

    def get_order(self, key: OrderKey) -> Order | None:
        body = {"TableName": self._tables.orders, "Key": to_wire(order_key_item(key)), "ConsistentRead": True}
        item = self._calls.read("get_item", body).get("Item")
        return read_order(from_wire(item)) if item else None

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        if order.tombstones:
            return self._leave_line(order, seen_rev)
        try:
            self._calls.write("put_item", replacement(self._tables.orders, order, seen_rev))
        except ConditionFailed as failure:
            return lost_race(order, failure.item)
        return Saved(order, done=True)

    def _leave_line(self, order: Order, seen_rev: int) -> Saved:
        """Save an order together with the tombstones at its older homes."""
        table = self._tables.orders
        actions: list[Body] = [{"Put": replacement(table, order, seen_rev)}]
        actions += [tombstone(table, home, order.key.order_id) for home in order.tombstones]
        try:
            self._calls.transact(actions, name=("leave", order.key.event_id, order.op))
        except Cancelled as cancelled:
            own, *older = cancelled.verdicts
            if own.failed:
                return lost_race(order, own.item)
            cancelled.need(decided=False)
            others = [standing_for(verdict.item) for verdict in older if verdict.item is not None]
            return Saved(None, done=False, superseded_by=others[0])
        return Saved(stored_form(order), done=True)

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        pk = partition_key(event_id, shard)
        bounds = {"pk": pk, "first": f"{lane}#", "last": f"{lane}#{sortable_ms(until_ms)}{_AFTER_HASH}"}
        body = self._work("#pk = :pk AND #work BETWEEN :first AND :last", bounds)
        body["Limit"] = limit
        if cursor is not None:
            body["ExclusiveStartKey"] = to_wire({"pk": pk, "sk": _order_id(cursor), "work": cursor})
        answer = self._calls.read("query", body)
        last = answer.get("LastEvaluatedKey")
        hints = tuple(_hint(event_id, shard, from_wire(item)) for item in answer["Items"])
        return HintPage(hints, last["work"]["S"] if last else None)

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        pk = partition_key(event_id, shard)
        body = query(self._tables.orders, "#pk = :pk", {"pk": pk})
        body |= {"ConsistentRead": True, "Limit": limit}
        if cursor is not None:
            body["ExclusiveStartKey"] = to_wire({"pk": pk, "sk": cursor})
        answer = self._calls.read("query", body)
        last = answer.get("LastEvaluatedKey")
        items = (from_wire(item) for item in answer["Items"])
        orders = tuple(read_order(item) for item in items if not is_tombstone(item))
        return OrderPage(orders, last["sk"]["S"] if last else None)

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        bounds = {"pk": partition_key(event_id, shard), "lane": f"{lane}#"}
        body = self._work("#pk = :pk AND begins_with(#work, :lane)", bounds)
        body["Select"] = "COUNT"
        count = 0
        while count < most:
            answer = self._calls.read("query", {**body, "Limit": most - count})
            count += answer["Count"]
            if "LastEvaluatedKey" not in answer:
                break
            body["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return count

    def _work(self, condition: str, bounds: Item) -> Body:
        return {**query(self._tables.orders, condition, bounds), "IndexName": WORK_INDEX}


def order_key_item(key: OrderKey) -> Item:
    """Write an order's address as the table's key."""
    return {"pk": key.partition, "sk": key.order_id}


def tombstone(table: str, home: OrderKey, order_id: str) -> Body:
    """Close an address, if nothing is stored there."""
    return {"Put": put(table, tombstone_item(home, order_id), "attribute_not_exists(#pk)")}


def replacement(table: str, order: Order, seen_rev: int) -> Body:
    """Write an order over the version that was read."""
    return put(table, order_item(order), "#rev = :seen", {"seen": seen_rev})


def lost_race(order: Order, item: Item | None) -> Saved:
    """Tell the writer's own earlier success from another's: the stored `op` says whose it was."""
    stored = read_order(item) if item is not None else None
    return Saved(stored, done=stored is not None and bool(order.op) and stored.op == order.op)


def _stored(item: Item | None) -> Order:
    if item is None:
        raise AssertionError("a failed attribute_not_exists returns the item")
    return read_order(item)


def _hint(event_id: str, shard: int, item: dict[str, Any]) -> WorkHint:
    lane, at, _ = item["work"].split("#", 2)
    key = OrderKey(event_id, shard, item["sk"])
    demand, homes = read_demand(item["demand"]), read_homes(event_id, item)
    trace = item.get("trace", "")
    return WorkHint(key, Lane(lane), int(at), item["buyer"], demand, item["accepted_at"], homes, trace)


def _order_id(work: str) -> str:
    return work.split("#", 2)[2]
