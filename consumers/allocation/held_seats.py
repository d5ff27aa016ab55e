"""Finds out whether an order still holds seats of a pool, so that they may come back.

Held orders always have a duty with a time, or are parked: the shards' timer and parked lanes name them as hints, and
a consistent read decides. One order found is a witness, and as long as it holds its seats nothing else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from consumers.tasks import shard_count
from consumers.tools import Tools
from shared.domain.errors import Broken
from shared.domain.inventory import PoolState
from shared.domain.order import FINAL, Lane, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.domain.times import MAX_TIME_MS
from shared.ports.orders import HintPage

# Store calls of one look at most, about; a longer search goes on with the next look.
MAX_CALLS = 400
PAGE = 100


@dataclass(frozen=True, slots=True)
class _Step:
    """One page looked through: the calls it took, and the order it found that holds seats."""

    calls: int
    found: OrderKey | None


@dataclass(slots=True)
class _Search:
    pool: PoolState
    steps: Iterator[_Step]


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
        calls = 0
        while calls < MAX_CALLS:
            step = next(search.steps, None)
            if step is None or step.found is not None:
                del self._search[pool.pool_id]
                return self._remember(pool, None if step is None else step.found)
            calls += step.calls
        return None

    def _remember(self, pool: PoolState, found: OrderKey | None) -> bool:
        if found is None:
            self._none[pool.pool_id] = pool
        else:
            self._witness[pool.pool_id] = found
        return found is not None

    def _run(self, sale: Sale, pool_id: str) -> Iterator[_Step]:
        """Look through the lanes of all shards, a page a step."""
        for shard in range(shard_count(sale)):
            for lane in (Lane.TIMER, Lane.PARKED):
                cursor: str | None = None
                while True:
                    page = self.tools.store.due(
                        sale.event_id, shard, lane, until_ms=MAX_TIME_MS, limit=PAGE, cursor=cursor
                    )
                    yield self._look_through(page, pool_id)
                    cursor = page.cursor
                    if cursor is None:
                        break

    def _look_through(self, page: HintPage, pool_id: str) -> _Step:
        keys = [
            hint.key
            for hint in page.hints
            if hint.key not in self._ended and any(want.pool_id == pool_id for want in hint.demand)
        ]
        holding = self.tools.fan_out_reads(partial(self._holds, pool_id=pool_id), keys)
        calls = 1
        for key, holds in zip(keys, holding, strict=True):
            calls += 1
            if holds:
                return _Step(calls, key)
        return _Step(calls, None)

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
