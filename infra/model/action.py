"""One action of a request, priced."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.model.item_book import ItemKey, Remembered
from infra.model.item_size import AttributeValue
from infra.model.partition_model import Charge
from infra.model.position import sortable_number
from infra.model.schema import KeyNames, TableSchema


@dataclass(frozen=True, slots=True)
class Action:
    """What one action costs, and what will be known of its item when it has succeeded.

    charges: the table's. index_charges: of every affected index; given back when the action's condition fails.
    item_key: none for a read. after: the item as the action leaves it; none when it deletes it.
    unplaced: index writes whose place is not known, because the item was never seen.
    """

    table: str
    charges: tuple[Charge, ...]
    index_charges: tuple[Charge, ...] = ()
    item_key: ItemKey | None = None
    after: Remembered | None = None
    unplaced: int = 0

    @property
    def all_charges(self) -> tuple[Charge, ...]:
        """Table and indexes."""
        return self.charges + self.index_charges


def sortable(value: AttributeValue) -> bytes:
    """A key attribute as bytes that sort as DynamoDB sorts: text by UTF-8, numbers by value.

    Source: "Naming rules and data types".
    """
    ((kind, content),) = value.items()
    if kind == "N":
        return sortable_number(content)
    if kind == "B":
        return content if isinstance(content, bytes) else base64.b64decode(content)
    return str(content).encode("utf-8", "surrogatepass")


def place_of(key: KeyNames, attributes: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """(partition key, sort key) of an item or key map; `KeyError` when one is missing."""
    sort = b"" if key.sort is None else sortable(attributes[key.sort])
    return sortable(attributes[key.partition]), sort


def item_key_of(table: TableSchema, attributes: Mapping[str, Any]) -> ItemKey:
    """How an item is named in the book."""
    return (table.arn, *place_of(table.key, attributes))
