"""What a read costs: known only in part before it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.model.action import Action, item_key_of, place_of, sortable
from infra.model.expressions import key_condition
from infra.model.item_book import ItemBook
from infra.model.item_size import item_bytes, read_units
from infra.model.partition_model import Charge
from infra.model.reasons import Operation
from infra.model.schema import KeyNames, TableSchema


class ReadPricer:
    """Prices reads of one table: one unit per 4 KiB begun if consistent, half if not, two in a transaction.

    Source: "DynamoDB read and write operations".
    """

    def __init__(self, table: TableSchema, book: ItemBook) -> None:
        self._table = table
        self._book = book

    def get(self, key: Mapping[str, Any], *, consistent: bool, transactional: bool = False) -> Action:
        """One item, of the size it is remembered with, else of up to 4 KiB."""
        _, partition, sort = item_key = item_key_of(self._table, key)
        known = self._book.recall(item_key)
        units = read_units(known.size_bytes if known else 0, consistent=consistent, transactional=transactional)
        return Action(self._table.name, (Charge(self._table.arn, Operation.READ, partition, sort, units),))

    def query(self, request: Mapping[str, Any]) -> Action:
        """The first 4 KiB of what a query or scan reads; `query_rest` has what came on top."""
        arn, key = self._resource(request)
        consistent = bool(request.get("ConsistentRead"))
        partition, sort = _start(key, request)
        units = read_units(0, consistent=consistent)
        return Action(self._table.name, (Charge(arn, Operation.READ, partition, sort, units),))

    def query_rest(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> Charge | None:
        """What an answer shows to have been read beyond the first 4 KiB: sizes are summed, then rounded.

        Filtered items were read too: where the answer holds fewer items than were scanned, those are taken
        to be as large as the ones it holds.
        """
        items = answer.get("Items") or []
        scanned = answer.get("ScannedCount", len(items))
        size = sum(map(item_bytes, items))
        if items and scanned > len(items):
            size = size * scanned // len(items)
        consistent = bool(request.get("ConsistentRead"))
        more = read_units(size, consistent=consistent) - read_units(0, consistent=consistent)
        if more <= 0:
            return None
        arn, key = self._resource(request)
        return Charge(arn, Operation.READ, *_start(key, request), more)

    def _resource(self, request: Mapping[str, Any]) -> tuple[str, KeyNames]:
        name = request.get("IndexName")
        index = self._table.global_index(name) if name else None
        if index is not None:
            return index.arn, index.key
        return self._table.arn, self._table.local_indexes.get(name or "", self._table.key)


def _start(key: KeyNames, request: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Where reading begins: at the cursor, at the lower end of the range, or (a scan) at the table's beginning."""
    cursor = request.get("ExclusiveStartKey")
    if cursor and all(name in cursor for name in key.names):
        return place_of(key, cursor)
    values = key_condition(request)
    partition = sortable(values[key.partition]) if key.partition in values else b""
    sort = sortable(values[key.sort]) if key.sort is not None and key.sort in values else b""
    return partition, sort
