"""I7: nobody has more than the sale allows, one order or one buyer."""

from __future__ import annotations

from collections import defaultdict

from infra.verify.facts import Facts, OrderFact
from infra.verify.verdict import Findings, Verdict
from shared.domain.order import SEATED


def check_limits(facts: Facts) -> Verdict:
    """I7: no buyer exceeds the per-buyer limit, no order the per-order limit."""
    findings = Findings()
    sale = facts.sale
    for order in facts.orders.values():
        if order.quantity > sale.max_per_order:
            findings.fault(f"order {order.order_id} has {order.quantity} tickets; {sale.max_per_order} are allowed")
    if sale.max_per_buyer is None:
        return findings.verdict("I7", f"{len(facts.orders):,} orders; the sale has no limit per buyer")
    seated: dict[str, list[OrderFact]] = defaultdict(list)
    for order in facts.orders.values():
        if order.status in SEATED:
            seated[order.buyer_id].append(order)
    for orders in seated.values():
        _check_buyer(findings, facts, sale.max_per_buyer, orders)
    for buyer_id in facts.buyer_counts.keys() - seated.keys():
        if facts.buyer_counts[buyer_id]:
            findings.judge("a buyer's counter counts tickets of no order", moving=not facts.settled)
    return findings.verdict(
        "I7", f"adding up {len(facts.orders):,} orders by buyer and comparing {len(facts.buyer_counts):,} counters"
    )


def _check_buyer(findings: Findings, facts: Facts, limit: int, orders: list[OrderFact]) -> None:
    ids = [order.order_id for order in orders]
    moving = not facts.moving.isdisjoint(ids)
    tickets = sum(order.quantity for order in orders)
    if tickets > limit:
        findings.judge(
            f"orders {', '.join(ids)} of one buyer have {tickets} tickets; {limit} are allowed", *ids, moving=moving
        )
    counted = facts.buyer_counts.get(orders[0].buyer_id, 0)
    if counted != tickets:
        findings.judge(
            f"the counter of the buyer of order {ids[0]} says {counted}, the orders {tickets}",
            *ids,
            moving=moving or not facts.settled,
        )
