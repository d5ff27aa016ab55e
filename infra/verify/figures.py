"""Figures of a whole sale, all of them counted from what is stored, the books and the receipts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from infra.verify.facts import Facts
from infra.verify.line import overtaken_orders
from infra.verify.money import double_charged, unpaid_confirmed
from infra.verify.promises import duplicate_orders
from infra.verify.seats import taken_seats
from shared.domain.order import FINAL, Status


@dataclass(frozen=True, slots=True)
class SaleFigures:
    """What became of a sale. Counts of orders, except `capacity`, `sold`, `held` and `oversold`: seats."""

    orders: int
    by_status: dict[str, int]
    by_reason: dict[str, int]
    capacity: int
    sold: int
    held: int
    oversold: int
    lost: int
    duplicate_orders: int
    double_charged: int
    unpaid_confirmed: int
    overtaken: float
    waiting_that_fit: int
    drained_per_s: float
    drained_peak_per_s: int

    @property
    def clean(self) -> bool:
        """Say whether nothing happened that must never happen."""
        return not (self.oversold or self.lost or self.duplicate_orders or self.double_charged or self.unpaid_confirmed)


def sale_figures(facts: Facts) -> SaleFigures:
    """Count them."""
    orders = facts.orders.values()
    seats = taken_seats(orders)
    by_pool: Counter[str] = Counter()
    for (pool_id, _), count in seats.items():
        by_pool[pool_id] += count
    sold = sum(order.quantity for order in orders if order.status is Status.CONFIRMED)
    return SaleFigures(
        orders=len(facts.orders),
        by_status=dict(Counter(str(order.status) for order in orders)),
        by_reason=dict(Counter(str(order.reason) for order in orders if order.reason)),
        capacity=sum(pool.capacity for pool in facts.sale.pools),
        sold=sold,
        held=sum(by_pool.values()) - sold,
        oversold=sum(max(0, by_pool[pool.pool_id] - pool.capacity) for pool in facts.sale.pools),
        lost=_lost(facts),
        duplicate_orders=duplicate_orders(facts),
        double_charged=double_charged(facts),
        unpaid_confirmed=unpaid_confirmed(facts),
        overtaken=overtaken_orders(facts) / len(facts.orders) if facts.orders else 0.0,
        waiting_that_fit=waiting_that_fit(facts),
        drained_per_s=_drained_per_s(facts),
        drained_peak_per_s=_drained_peak_per_s(facts),
    )


def waiting_that_fit(facts: Facts) -> int:
    """Count the queued orders that would fit what is left now."""
    left = {pool.state.pool_id: pool.state.left for pool in facts.pools}
    return sum(
        1
        for order in facts.orders.values()
        if order.status is Status.QUEUED
        and not order.parked
        and all(want.quantity <= left[want.pool_id] for want in order.demand)
    )


def _lost(facts: Facts) -> int:
    if facts.receipts is None:
        return 0
    promised = {order_id for claim in facts.receipts.claims for order_id in claim.order_ids}
    stranded = {
        order.order_id for order in facts.orders.values() if order.status not in FINAL and not order.waits_for_work
    }
    return len(promised - facts.orders.keys()) + len(stranded)


def _left_line_ms(facts: Facts) -> list[int]:
    return [
        order.held_at_ms or order.updated_at_ms for order in facts.orders.values() if order.status is not Status.QUEUED
    ]


def _drained_per_s(facts: Facts) -> float:
    """Orders that left the line per second, from the first acceptance to the last decision over a queued order."""
    leaves = _left_line_ms(facts)
    if not leaves:
        return 0.0
    first = min(order.accepted_at_ms for order in facts.orders.values())
    return len(leaves) / max(0.001, (max(leaves) - first) / 1000)


def _drained_peak_per_s(facts: Facts) -> int:
    """Orders that left the line in the busiest second of the clock."""
    return max(Counter(at_ms // 1000 for at_ms in _left_line_ms(facts)).values(), default=0)
