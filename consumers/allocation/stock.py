"""What one group may give out: its own slices, and what it can draw from the pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from consumers.tools import Tools
from shared.domain.allocator import Stock
from shared.domain.errors import NotFound
from shared.domain.inventory import PoolState
from shared.domain.order import Demand, WorkHint
from shared.domain.sale import Sale, slice_of


@dataclass(frozen=True, slots=True)
class Holdings:
    """The sale's pools as read, and which slice of each the group draws on."""

    pools: Mapping[str, PoolState]
    slices: Mapping[str, int]

    def own(self, pool_id: str) -> int:
        """Unsold seats in the group's slice."""
        return self.pools[pool_id].slices[self.slices[pool_id]].unsold

    def within_reach(self, pool_id: str) -> int:
        """Seats in the group's slice and those nobody has been assigned."""
        return self.own(pool_id) + self.pools[pool_id].unassigned

    def stock(self, seats: Callable[[str], int]) -> dict[str, Stock]:
        """Return what the allocator may give out, counted by `own` or `within_reach`."""
        return {pool_id: Stock(seats(pool_id), pool.round, pool.sold_out) for pool_id, pool in self.pools.items()}

    def refused(self, want: Demand) -> bool:
        """Say whether the order was taken before the pool's last sold-out decision, or the decision still stands."""
        pool = self.pools[want.pool_id]
        return want.round < pool.round or (want.round == pool.round and pool.sold_out)


def read_holdings(tools: Tools, sale: Sale, group: int) -> Holdings:
    """Read every pool of the sale; pools that a sale's creator did not come to open are opened."""
    try:
        pools = {pool.pool_id: tools.store.get_pool(sale, pool.pool_id) for pool in sale.pools}
    except NotFound:
        tools.store.open_inventory(sale)
        pools = {pool.pool_id: tools.store.get_pool(sale, pool.pool_id) for pool in sale.pools}
    return Holdings(pools, {pool.pool_id: slice_of(pool, group) for pool in sale.pools})


def draw_for(tools: Tools, sale: Sale, holdings: Holdings, hold: tuple[WorkHint, ...]) -> bool:
    """Draw into the group's slices exactly what these orders lack; False when another group was faster.

    Pools are drawn on in the order of their names, so that two groups that need the same two pools do not each take
    one.
    """
    needed = seats_wanted(hold)
    for pool_id in sorted(needed):
        lacking = needed[pool_id] - holdings.own(pool_id)
        if lacking > 0 and not tools.store.draw(
            sale.event_id, pool_id, holdings.slices[pool_id], lacking, op=tools.ids.op_id()
        ):
            tools.observe(sale.event_id, "draw_missed", 1)
            return False
    return True


def give_back_idle(tools: Tools, sale: Sale, holdings: Holdings) -> int:
    """Give everything back that the group cannot use now, where the pool runs low; return the seats.

    While the pool could serve any one order of another group, seats may rest where they are.
    """
    given = 0
    for pool_id in sorted(holdings.pools):
        pool = holdings.pools[pool_id]
        seats = holdings.own(pool_id)
        enough = max(sale.max_per_order, pool.capacity // 4)
        if len(pool.slices) == 1 or seats == 0 or pool.unassigned >= enough:
            continue
        slice_no = holdings.slices[pool_id]
        if tools.store.give_back(sale.event_id, pool_id, slice_no, seats, op=tools.ids.op_id()):
            tools.observe(sale.event_id, "seats_given_back", seats)
            given += seats
    return given


def seats_wanted(hints: tuple[WorkHint, ...]) -> dict[str, int]:
    """Sum the demands by pool."""
    needed: dict[str, int] = {}
    for hint in hints:
        for want in hint.demand:
            needed[want.pool_id] = needed.get(want.pool_id, 0) + want.quantity
    return needed
