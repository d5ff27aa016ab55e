"""What can be done now for orders that want the same: hold them, refuse them, or let them wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from consumers.allocation.stock import Holdings
from shared.domain.order import Demand, Reason
from shared.domain.sale import Sale, SaleStatus, WhenShort


@dataclass(frozen=True, slots=True)
class Outlook:
    """One pass's view; with `reach` the seats nobody was assigned count as the group's own.

    `ended` names pools of an ended sale to which no seat can come back.
    """

    sale: Sale
    holdings: Holdings
    reach: bool
    ended: frozenset[str]

    def known(self, demand: Sequence[Demand]) -> bool:
        """Say whether the sale has all the pools."""
        return all(want.pool_id in self.holdings.pools for want in demand)

    def decidable(self, demand: Sequence[Demand]) -> bool:
        """Say whether a pass should look at all such orders, and not at the oldest only."""
        if not self.known(demand) or self.sale.status is SaleStatus.CANCELLED:
            return True
        free = self.holdings.within_reach if self.reach else self.holdings.own
        return (
            all(want.quantity <= free(want.pool_id) for want in demand)
            or any(self.holdings.refused(want) for want in demand)
            or self.why_hopeless(demand) is not None
        )

    def why_hopeless(self, demand: Sequence[Demand]) -> Reason | None:
        """Return why an order that does not fit now is not to wait, or None."""
        lacking = [want.pool_id for want in demand if want.quantity > self.holdings.pools[want.pool_id].left]
        if lacking and self.sale.when_short is WhenShort.REJECT:
            return Reason.SOLD_OUT
        final = [pool_id for pool_id in lacking if pool_id in self.ended]
        if not final:
            return None
        gone = any(self.holdings.pools[pool_id].left == 0 for pool_id in final)
        return Reason.SOLD_OUT if gone else Reason.NOT_ENOUGH_SEATS
