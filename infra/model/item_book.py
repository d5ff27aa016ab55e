"""What has been seen of stored items, so that an update or delete can be priced."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Remembered:
    """An item's size, and those of its attributes that are keys of an index, in sortable form.

    entries: a mark of what each index holds of it, by index name, where the whole entry was seen.
    """

    size_bytes: int
    index_keys: Mapping[str, bytes]
    entries: Mapping[str, int] = field(default_factory=dict)


ItemKey = tuple[str, bytes, bytes]
"""Table ARN, partition key, sort key."""


@dataclass(slots=True)
class ItemBook:
    """The newest `most` items; the one unused for longest is forgotten first."""

    most: int = 500_000
    _items: OrderedDict[ItemKey, Remembered] = field(default_factory=OrderedDict)

    def recall(self, key: ItemKey) -> Remembered | None:
        """What is known of an item; none when it was never seen, was deleted or forgotten."""
        known = self._items.get(key)
        if known is not None:
            self._items.move_to_end(key)
        return known

    def remember(self, key: ItemKey, item: Remembered | None) -> None:
        """Note an item as it is now; none: it is gone."""
        if item is None:
            self._items.pop(key, None)
            return
        self._items[key] = item
        self._items.move_to_end(key)
        if len(self._items) > self.most:
            self._items.popitem(last=False)

    def forget_table(self, arn: str) -> None:
        """Forget every item of a deleted table."""
        for key in [key for key in self._items if key[0] == arn]:
            del self._items[key]
