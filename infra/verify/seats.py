"""I1: every seat of every pool is in one place, counted from the orders and compared with the counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from infra.verify.facts import Facts, OrderFact, PoolFact
from infra.verify.verdict import Findings, Verdict
from shared.domain.order import SEATED, Status


def check_seats(facts: Facts) -> Verdict:
    """I1: unassigned + unsold + held + confirmed + withheld = capacity, and each is at least 0."""
    findings = Findings()
    for pool in facts.pools:
        _check_pool(findings, facts, pool)
        _check_slices(findings, pool)
    _check_orders(findings, facts)
    return findings.verdict(
        "I1",
        f"adding up the seats of {len(facts.orders):,} stored orders and comparing every slice of "
        f"{len(facts.pools)} pools, and that no ticket code stands twice",
    )


def taken_seats(orders: Iterable[OrderFact]) -> Counter[tuple[str, int]]:
    """Add up held and confirmed seats by pool and slice, from the orders alone."""
    taken: Counter[tuple[str, int]] = Counter()
    for order in orders:
        if order.status in SEATED:
            for part in order.seats:
                taken[part.pool_id, part.slice_no] += part.quantity
    return taken


def _check_pool(findings: Findings, facts: Facts, pool: PoolFact) -> None:
    state = pool.state
    if not state.balanced:
        findings.fault(
            f"pool {state.pool_id}: {state.unassigned} unassigned + {state.unsold} unsold + {state.taken} taken + "
            f"{state.withheld} withheld is not {state.capacity}, or one of them is below 0"
        )
    if state.capacity != facts.sale.pool(state.pool_id).capacity:
        findings.fault(f"pool {state.pool_id} counts {state.capacity} seats, the sale has another number")


def _check_slices(findings: Findings, pool: PoolFact) -> None:
    for part in pool.state.slices:
        count = pool.settled.get(part.slice_no)
        name = f"slice {part.slice_no} of pool {pool.state.pool_id}"
        if count is None:
            findings.doubt(f"{name} kept changing while its orders were read")
        elif count.by_orders != count.by_counter:
            findings.fault(f"{name} counts {count.by_counter} seats taken, its orders have {count.by_orders}")


def _check_orders(findings: Findings, facts: Facts) -> None:
    codes: set[str] = set()
    known = {(pool.state.pool_id, part.slice_no) for pool in facts.pools for part in pool.state.slices}
    for order in facts.orders.values():
        if any((part.pool_id, part.slice_no) not in known for part in order.seats):
            findings.fault(f"order {order.order_id} has seats of a slice that does not exist", order.order_id)
        if order.status in SEATED and _wanted(order) != _given(order):
            findings.fault(f"order {order.order_id} has other seats than it asked for", order.order_id)
        if order.status is Status.CONFIRMED and len(order.tickets) != order.quantity:
            findings.fault(
                f"order {order.order_id} has {len(order.tickets)} ticket codes for {order.quantity} seats",
                order.order_id,
            )
        for code in order.tickets:
            if code in codes:
                findings.fault(f"a ticket code of order {order.order_id} was given twice", order.order_id)
            codes.add(code)


def _wanted(order: OrderFact) -> dict[str, int]:
    return {want.pool_id: want.quantity for want in order.demand}


def _given(order: OrderFact) -> dict[str, int]:
    given: Counter[str] = Counter()
    for part in order.seats:
        given[part.pool_id] += part.quantity
    return dict(given)
