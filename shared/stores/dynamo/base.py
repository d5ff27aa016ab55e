"""What the store's three parts stand on: the calls, the tables, and reading many keys at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Throttled
from shared.stores.limits import MAX_KEYS
from shared.stores.wire import Item, from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.ports.system import Clock
    from shared.stores.dynamo.client import Calls
    from shared.stores.dynamo.expressions import Body
    from shared.stores.dynamo.tables import Tables

# A call may leave keys unread; asked again at once so often, then the caller is told to wait.
MAX_ROUNDS = 3


class Base:
    """Holds the calls, the table names, and the clock by which heartbeats are forgotten."""

    def __init__(self, calls: Calls, tables: Tables, clock: Clock) -> None:
        self._calls = calls
        self._tables = tables
        self._clock = clock

    def _read_all(self, table: str, keys: Sequence[Item]) -> list[Item]:
        """Read many items consistently, in any order; those that are not there are absent."""
        items: list[Item] = []
        for start in range(0, len(keys), MAX_KEYS):
            items += self._read_some(table, keys[start : start + MAX_KEYS])
        return items

    def _read_some(self, table: str, keys: Sequence[Item]) -> list[Item]:
        items: list[Item] = []
        asked: Body = {table: {"Keys": [to_wire(key) for key in keys], "ConsistentRead": True}}
        for _ in range(MAX_ROUNDS):
            answer = self._calls.read("batch_get_item", {"RequestItems": asked})
            items += [from_wire(item) for item in answer["Responses"].get(table, ())]
            asked = answer.get("UnprocessedKeys") or {}
            if not asked:
                return items
        raise Throttled(reason="UnprocessedKeys", resource=table)

    def _read_partition(self, body: Body) -> list[Item]:
        """Follow a query's pages to the end; for partitions that stay small."""
        items: list[Item] = []
        while True:
            answer = self._calls.read("query", body)
            items += [from_wire(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return items
            body = {**body, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
