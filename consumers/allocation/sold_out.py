"""Rounds: the decision that a pool is sold out, its reopening when seats come back, and what an ended sale cannot give.

Every worker may come to the decision; the store takes it once for each round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from consumers.allocation.held_seats import HeldSeats
from consumers.tools import Tools
from shared.domain.inventory import PoolState
from shared.domain.sale import Sale

# A pool must have been dry and unchanged for so long that the index shows every order that holds its seats.
DRY_S = 2.0


@dataclass(slots=True)
class Rounds:
    """Watches one sale's pools run dry."""

    tools: Tools
    held: HeldSeats
    _since: dict[str, tuple[PoolState, float]] = field(default_factory=dict)

    def reopen(self, sale: Sale, pool: PoolState) -> bool:
        """Take the mark off a sold-out pool that has seats again; new orders get them."""
        if not pool.sold_out or pool.left == 0:
            return False
        reopened = self.tools.store.reopen_pool(
            sale.event_id, pool.pool_id, seen_round=pool.round, op=self.tools.ids.op_id()
        )
        if reopened:
            self.tools.observe(sale.event_id, "pool_reopened", 1)
        return True

    def decide(self, sale: Sale, pool: PoolState) -> bool:
        """Take the decision if nothing of the pool can be had any more and none of its seats can come back."""
        if pool.sold_out or pool.left > 0 or not self.cannot_come_back(sale, pool):
            return False
        decided = self.tools.store.decide_sold_out(sale, pool.pool_id, seen_round=pool.round, op=self.tools.ids.op_id())
        if decided:
            self.tools.observe(sale.event_id, "sold_out", 1)
        return decided

    def cannot_come_back(self, sale: Sale, pool: PoolState) -> bool:
        """Say whether what is left of the pool is all there will be, because no order holds seats of it.

        The pool must have stood as it is for a while, and still stand so after the search.
        """
        return (
            self._settled(pool)
            and self.held.any(sale, pool) is False
            and self.tools.store.get_pool(sale, pool.pool_id) == pool
        )

    def _settled(self, pool: PoolState) -> bool:
        """Say whether the pool has not changed for `DRY_S` by this process's own clock."""
        now_s = self.tools.clock.monotonic_s()
        seen, since_s = self._since.get(pool.pool_id, (None, now_s))
        if seen != pool:
            self._since[pool.pool_id] = pool, now_s
            return False
        return now_s - since_s >= DRY_S
