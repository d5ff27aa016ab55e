"""How a running sale stands, by a few cheap reads of the store."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.errors import Unavailable
from shared.domain.order import Lane, WorkHint
from shared.domain.sale import Sale
from shared.ports import Store

# Enough to see whether anybody waits who fits; a line longer than this is certainly not drained.
HINTS_A_SHARD = 200
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
        lines = [_line(store, sale, shard) for shard in range(sale.shards)]
        due = sum(store.depth(sale.event_id, shard, Lane.TIMER, most=10_000) for shard in range(sale.shards))
        parked = sum(store.depth(sale.event_id, shard, Lane.PARKED, most=10_000) for shard in range(sale.shards))
    except Unavailable:
        return None
    return Look(
        left=sum(left.values()),
        taken=sum(pool.taken for pool in pools),
        sold_out=all(pool.sold_out for pool in pools),
        waiting=sum(len(line) for line in lines),
        waiting_that_fit=sum(1 for line in lines for hint in line if _fits(hint, left)),
        due=due,
        parked=parked,
    )


def _line(store: Store, sale: Sale, shard: int) -> tuple[WorkHint, ...]:
    return store.due(sale.event_id, shard, Lane.LINE, until_ms=FAR_MS, limit=HINTS_A_SHARD).hints


def _fits(hint: WorkHint, left: dict[str, int]) -> bool:
    return all(want.quantity <= left[want.pool_id] for want in hint.demand)
