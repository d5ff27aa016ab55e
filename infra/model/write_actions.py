"""What a put, an update or a delete costs on the table and on each of its indexes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from infra.model.action import Action, item_key_of, sortable
from infra.model.expressions import parse_update
from infra.model.item_book import ItemBook, Remembered
from infra.model.item_size import item_bytes, value_bytes, write_units
from infra.model.partition_model import Charge
from infra.model.reasons import Operation
from infra.model.schema import IndexSchema, TableSchema

_Keys = Mapping[str, bytes]


class WritePricer:
    """Prices the write actions of one table.

    A write costs one unit per KiB begun of the larger of the item before and after; a failed condition and
    a delete cost as well; a transaction costs double on the table. Sources: "DynamoDB read and write
    operations", "Managing complex workflows with DynamoDB transactions".
    """

    def __init__(
        self, table: TableSchema, book: ItemBook, *, transactional: bool = False, index_factor: int = 1
    ) -> None:
        self._table = table
        self._book = book
        self._transactional = transactional
        self._index_factor = index_factor if transactional else 1

    def put(self, item: Mapping[str, Any]) -> Action:
        """A whole item is written; every index that projects anything is written with it."""
        keys = {name: sortable(item[name]) for name in self._table.index_key_names if name in item}
        entries = {index.name: _mark(index, item) for index in self._table.indexes}
        return self._action(item, Remembered(item_bytes(item), keys, entries), changed=None, item=item)

    def update(self, request: Mapping[str, Any]) -> Action:
        """Some attributes change. What is not known of the item counts as nothing."""
        update, key = parse_update(request), request["Key"]
        before = self._book.recall(item_key_of(self._table, key))
        touched = sum(value_bytes(v) + len(n.encode()) for n, v in update.assigned.items())
        known = before.size_bytes if before else item_bytes(key) + touched
        keys = dict(before.index_keys) if before else {}
        for name in self._table.index_key_names:
            if name in key or name in update.assigned:
                keys[name] = sortable(key.get(name) or update.assigned[name])
            elif name in update.removed:
                keys.pop(name, None)
        kept = {i.name for i in self._table.indexes if not _touches(i, update.changed)}
        entries = {name: mark for name, mark in before.entries.items() if name in kept} if before else {}
        after = Remembered(max(known, item_bytes(key) + touched), keys, entries)
        return self._action(key, after, changed=update.changed)

    def delete(self, key: Mapping[str, Any]) -> Action:
        """The item and its entries in every index go away."""
        return self._action(key, None, changed=None)

    def check(self, key: Mapping[str, Any]) -> Action:
        """A condition check costs as a write of the item would, and changes nothing."""
        before = self._book.recall(item_key_of(self._table, key))
        charge = self._table_charge(key, before.size_bytes if before else 0, 0)
        return Action(self._table.name, (charge,), item_key=item_key_of(self._table, key), after=before)

    def _action(
        self,
        key: Mapping[str, Any],
        after: Remembered | None,
        *,
        changed: frozenset[str] | None,
        item: Mapping[str, Any] | None = None,
    ) -> Action:
        item_key = item_key_of(self._table, key)
        before = self._book.recall(item_key)
        sizes = (before.size_bytes if before else 0, after.size_bytes if after else 0)
        charge = self._table_charge(key, max(sizes), sizes[1] - sizes[0])
        charges: list[Charge] = []
        unplaced = 0
        for index in self._table.indexes:
            old = _place(index, before.index_keys if before else {})
            new = _place(index, after.index_keys if after else {})
            size = (
                item_bytes(_projection(index, item)) if item is not None else sizes[1] if index.projected is None else 0
            )
            touched = _touches(index, changed) and not _same_entry(index, before, after)
            charges += self._index_charges(index, old, new, size, touched=touched)
            unplaced += before is None and changed is not None and not changed.isdisjoint(index.key.names) and not new
        return Action(self._table.name, (charge,), tuple(charges), item_key, after, unplaced)

    def _table_charge(self, key: Mapping[str, Any], size_bytes: int, added_bytes: int) -> Charge:
        _, partition, sort = item_key_of(self._table, key)
        units = write_units(size_bytes, transactional=self._transactional)
        return Charge(self._table.arn, Operation.WRITE, partition, sort, units, added_bytes)

    def _index_charges(
        self,
        index: IndexSchema,
        old: tuple[bytes, bytes] | None,
        new: tuple[bytes, bytes] | None,
        size_bytes: int,
        *,
        touched: bool,
    ) -> list[Charge]:
        """A changed key is two writes, an entry that comes or goes one, a projected change one, else none.

        Source: "Using Global Secondary Indexes in DynamoDB", on write costs.
        """
        factor = self._index_factor
        if old == new:
            places = [new] if new is not None and touched else []
        else:
            places = [place for place in (old, new) if place is not None]
        return [
            Charge(index.arn, Operation.WRITE, *place, write_units(size_bytes if place == new else 0) * factor)
            for place in places
        ]


def _place(index: IndexSchema, keys: _Keys) -> tuple[bytes, bytes] | None:
    """Where an item stands in a sparse index; none when it has not all of its keys."""
    if not all(name in keys for name in index.key.names):
        return None
    return keys[index.key.partition], b"" if index.key.sort is None else keys[index.key.sort]


def _touches(index: IndexSchema, changed: frozenset[str] | None) -> bool:
    if changed is None:
        return True
    return bool(changed) if index.projected is None else not changed.isdisjoint(index.projected)


def _projection(index: IndexSchema, item: Mapping[str, Any]) -> Mapping[str, Any]:
    if index.projected is None:
        return item
    return {name: value for name, value in item.items() if name in index.projected}


def _mark(index: IndexSchema, item: Mapping[str, Any]) -> int:
    """Equal for equal entries: a put that leaves an index's entry as it is does not write there."""
    return hash(json.dumps(_projection(index, item), sort_keys=True, default=repr))


def _same_entry(index: IndexSchema, before: Remembered | None, after: Remembered | None) -> bool:
    if before is None or after is None or index.name not in before.entries:
        return False
    return before.entries[index.name] == after.entries.get(index.name)
