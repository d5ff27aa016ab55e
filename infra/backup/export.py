"""One sale into a folder, by pages: what is stored, as it is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import to_builtins

from infra.backup.folder import Entry, Folder
from infra.verify.read import BUYERS_A_CALL, patiently
from shared.ports.backup import BackupStore, Item
from shared.ports.store import Store
from shared.stores.records import sale_item

PAGE = 1000
SALE = "sale.jsonl"
POOLS = "pools.jsonl"
COUNTS = "counts.jsonl"

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    """What the folder holds. `still`: no seat moved meanwhile; if one did, `verify` may find the copy off."""

    event_id: str
    items: int
    segments: int
    still: bool


def export_sale(
    store: Store, backup: BackupStore, event_id: str, folder: Folder, progress: Progress = lambda _: None
) -> Exported:
    """Export, or go on with an interrupted export; NotFound without such a sale.

    Pause the sale with its allocation first: pages are read one after another, and a sale in motion moves between them.
    """
    sale = patiently(lambda: store.get_sale(event_id)).sale
    done = folder.begin(event_id)
    if not folder.complete:
        pools = {pool.pool_id: patiently(partial(store.get_pool, sale, pool.pool_id)) for pool in sale.pools}
        names = {entry.name for entry in done}
        if POOLS not in names:
            folder.write(SALE, [sale_item(sale)])
            folder.write(POOLS, [to_builtins(pool) for pool in pools.values()])
        for shard in range(max(sale.shard_counts)):
            _export_shard(backup, event_id, shard, folder, [one for one in done if one.shard == shard], progress)
        buyers = sorted(_buyers(folder, event_id)) if sale.max_per_buyer is not None else []
        counts: dict[str, int] = {}
        for at in range(0, len(buyers), BUYERS_A_CALL):
            part = buyers[at : at + BUYERS_A_CALL]
            counts |= patiently(partial(store.buyer_counts, event_id, part))
        folder.write(COUNTS, sorted(counts.items()))
        folder.end()
    _, entries = folder.check()
    now = [to_builtins(patiently(partial(store.get_pool, sale, pool.pool_id))) for pool in sale.pools]
    items = [entry for entry in entries if entry.shard is not None]
    return Exported(event_id, sum(entry.lines for entry in items), len(entries), _pools(folder, entries) == _plain(now))


def _export_shard(
    backup: BackupStore, event_id: str, shard: int, folder: Folder, done: list[Entry], progress: Progress
) -> None:
    number, cursor = len(done), None
    if done:
        progress(sum(entry.lines for entry in done))
        cursor = done[-1].cursor
        if cursor is None:
            return
    while True:
        page = patiently(partial(backup.read_items, event_id, shard, limit=PAGE, cursor=cursor))
        cursor = page.cursor
        folder.write(f"orders-{shard:04d}-{number:06d}.jsonl", page.items, shard=shard, cursor=cursor)
        progress(len(page.items))
        number += 1
        if cursor is None:
            return


def _buyers(folder: Folder, event_id: str) -> set[str]:
    """Name the buyers of all exported orders: only orders raise a buyer's counter."""
    entries = [entry for entry in folder.begin(event_id) if entry.shard is not None]
    return {row["buyer"] for entry in entries for row in folder.rows(entry) if "buyer" in row}


def _pools(folder: Folder, entries: list[Entry]) -> list[Item]:
    return [row for entry in entries if entry.name == POOLS for row in folder.rows(entry)]


def _plain(pools: list[Item]) -> list[Item]:
    return [{**pool, "slices": list(pool["slices"])} for pool in pools]
