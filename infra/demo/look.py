"""How a running sale stands, by a few cheap reads of the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain.errors import Unavailable
from shared.domain.order import Lane, WorkHint
from shared.domain.sale import Sale
from shared.ports.store import Store

PAGE = 500
MANY = 1_000_000
FAR_MS = 9_999_999_999_999


@dataclass(frozen=True, slots=True)
class Look:
    """Seats by what has become of them, and how many orders wait or have something due."""

    left: int
    taken: int
    sold_out: bool
    waiting: int
    waiting_that_fit: int
    due: int
    parked: int

    @property
    def drained(self) -> bool:
        """Say whether nothing moves any more: no hold is open, and nobody waits who would fit."""
        return self.due == 0 and self.waiting_that_fit == 0

    @property
    def at_rest(self) -> bool:
        """Say whether every order has come to its end, or waits for a person."""
        return self.due == 0 and self.waiting == 0


def look(store: Store, sale: Sale) -> Look | None:
    """Take one look; None when the store is briefly unavailable."""
    try:
        pools = [store.get_pool(sale, pool.pool_id) for pool in sale.pools]
        left = {pool.pool_id: pool.left for pool in pools}
        waiting, due, parked = (_depth(store, sale, lane) for lane in (Lane.LINE, Lane.TIMER, Lane.PARKED))
        fitting = sum(1 for hint in _line(store, sale) if _fits(hint, left)) if any(left.values()) else 0
    except Unavailable:
        return None
    return Look(
        left=sum(left.values()),
        taken=sum(pool.taken for pool in pools),
        sold_out=all(pool.sold_out for pool in pools),
        waiting=waiting,
        waiting_that_fit=fitting,
        due=due,
        parked=parked,
    )


def _depth(store: Store, sale: Sale, lane: Lane) -> int:
    return sum(store.depth(sale.event_id, shard, lane, most=MANY) for shard in range(sale.shards))


def _line(store: Store, sale: Sale) -> Iterator[WorkHint]:
    for shard in range(sale.shards):
        cursor: str | None = None
        while True:
            page = store.due(sale.event_id, shard, Lane.LINE, until_ms=FAR_MS, limit=PAGE, cursor=cursor)
            yield from page.hints
            cursor = page.cursor
            if cursor is None:
                break


def _fits(hint: WorkHint, left: dict[str, int]) -> bool:
    return all(want.quantity <= left[want.pool_id] for want in hint.demand)
