"""What is stored, as it is stored: for backups, never for the sale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from shared.domain.inventory import PoolState

Item = dict[str, Any]


class ItemPage(Struct, frozen=True):
    """Some stored items of one shard in key order. `cursor` is None at the end; a page may be empty before it."""

    items: tuple[Item, ...]
    cursor: str | None


class BackupStore(Protocol):
    """Items of orders, tombstones included, and counters, read and written without looking at what they mean."""

    def read_items(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> ItemPage:
        """Page through all that is stored in one shard, consistently."""
        ...

    def put_items(self, items: Sequence[Item]) -> None:
        """Store items, each in place of what stands under its key; at most 1,000."""
        ...

    def put_pools(self, event_id: str, pools: Sequence[PoolState]) -> None:
        """Store pools with their slices as they were counted."""
        ...

    def put_counts(self, event_id: str, counts: Mapping[str, int]) -> None:
        """Store buyers' counters; at most 1,000."""
        ...

    def close(self) -> None:
        """Give back connections and files."""
        ...
