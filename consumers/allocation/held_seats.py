"""Finds out whether an order still holds seats of a pool, so that they may come back.

Held orders always have a duty with a time, or are parked: the shards' timer and parked lanes name them as hints, and
a consistent read decides. One order found is a witness, and as long as it holds its seats nothing else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from consumers.tools import Tools
from shared.domain.errors import Broken
from shared.domain.inventory import PoolState
from shared.domain.order import FINAL, Lane, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.domain.times import MAX_TIME_MS

# Store calls of one look at most; a longer search goes on with the next look.
MAX_CALLS = 64
PAGE = 100


@dataclass(slots=True)
class _Search:
    pool: PoolState
    steps: Iterator[OrderKey | None]


@dataclass(slots=True)
class HeldSeats:
    """Remembers, for each pool, a witness, how far a search has come, and which orders it ruled out."""

    tools: Tools
    _witness: dict[str, OrderKey] = field(default_factory=dict)
    _search: dict[str, _Search] = field(default_factory=dict)
    _none: dict[str, PoolState] = field(default_factory=dict)
    _ended: set[OrderKey] = field(default_factory=set)

    def any(self, sale: Sale, pool: PoolState) -> bool | None:
        """Say whether an order holds seats of `pool`; None when the search is not through yet.

        The search begins again whenever the pool has changed. At most about `MAX_CALLS` store calls.
        """
        if pool.taken == 0 or self._none.get(pool.pool_id) == pool:
            return False
        witness = self._witness.get(pool.pool_id)
        if witness is not None and self._holds(witness, pool.pool_id):
            return True
        search = self._search.get(pool.pool_id)
        if search is None or search.pool != pool:
            search = self._search[pool.pool_id] = _Search(pool, self._run(sale, pool.pool_id))
        for _ in range(MAX_CALLS):
            found = next(search.steps, "end")
            if found == "end":
                del self._search[pool.pool_id]
                self._none[pool.pool_id] = pool
                return False
            if isinstance(found, OrderKey):
                self._witness[pool.pool_id] = found
                del self._search[pool.pool_id]
                return True
        return None

    def _run(self, sale: Sale, pool_id: str) -> Iterator[OrderKey | None]:
        """Yield None after each store call, or the order that was found."""
        for shard in range(max(sale.shard_counts)):
            for lane in (Lane.TIMER, Lane.PARKED):
                cursor: str | None = None
                while True:
                    page = self.tools.store.due(
                        sale.event_id, shard, lane, until_ms=MAX_TIME_MS, limit=PAGE, cursor=cursor
                    )
                    yield None
                    for hint in page.hints:
                        if hint.key not in self._ended and any(want.pool_id == pool_id for want in hint.demand):
                            yield hint.key if self._holds(hint.key, pool_id) else None
                    cursor = page.cursor
                    if cursor is None:
                        break

    def _holds(self, key: OrderKey, pool_id: str) -> bool:
        try:
            order = self.tools.store.get_order(key)
        except Broken:
            return False
        if order is None:
            return False
        if order.status in FINAL:
            self._ended.add(key)
        return order.status is Status.HELD and any(seats.pool_id == pool_id for seats in order.seats)
