"""A folder into a store that does not know the sale: the same items, the same counters, the sale last.

Whatever interrupts it: until the sale itself is stored, nobody works on what is there, and restoring again writes the
same once more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from infra.backup.export import COUNTS, PAGE, POOLS, SALE, Progress
from infra.backup.folder import Folder
from infra.verify.read import patiently
from shared.domain.errors import Conflicting, NotFound
from shared.domain.inventory import PoolState, SliceState
from shared.ports.backup import BackupStore
from shared.ports.store import Store
from shared.stores.records import read_sale


def restore_sale(store: Store, backup: BackupStore, folder: Folder, progress: Progress = lambda _: None) -> str:
    """Check the folder whole, then write it; return the sale's id.

    Damaged when a segment differs from the manifest, Conflicting when the store has this sale already.
    """
    event_id, entries = folder.check()
    if _has(store, event_id):
        raise Conflicting(f"The store already has the sale {event_id!r}; restore into an empty one.")
    rows = {entry.name: list(folder.rows(entry)) for entry in entries if entry.shard is None}
    for entry in entries:
        if entry.shard is not None:
            items = list(folder.rows(entry))
            patiently(partial(backup.put_items, items))
            progress(len(items))
    patiently(partial(backup.put_pools, event_id, [_pool(row) for row in rows[POOLS]]))
    counts = rows[COUNTS]
    for at in range(0, len(counts), PAGE):
        patiently(partial(backup.put_counts, event_id, dict(counts[at : at + PAGE])))
    sale = read_sale(rows[SALE][0])
    patiently(lambda: store.create_sale(sale))
    return event_id


def _has(store: Store, event_id: str) -> bool:
    look: Callable[[], object] = partial(store.get_sale, event_id)
    try:
        patiently(look)
    except NotFound:
        return False
    return True


def _pool(row: dict[str, Any]) -> PoolState:
    return PoolState(**{**row, "slices": tuple(SliceState(**part) for part in row["slices"])})
