"""I6: first come, first served, among orders that want the same from the same slice.

An index may show an order late, a writer may stall between choosing its time and writing, and a worker reads a line
only every few seconds from its head. So only an order that had been waiting for `LATE_MS` counts as passed over.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby

from infra.verify.facts import Facts, OrderFact
from infra.verify.verdict import Findings, Verdict
from shared.domain.order import Demand, Reason, Status
from shared.domain.sale import group_of

# Twice the 5 s after which a worker reads its line from the head again.
LATE_MS = 10_000
_NEVER = 2**62

Class = tuple[int, tuple[Demand, ...]]


def check_line(facts: Facts) -> Verdict:
    """I6: within a slice the oldest accepted order that fits is allocated first."""
    findings = Findings()
    classes: dict[Class, list[OrderFact]] = defaultdict(list)
    for order in facts.orders.values():
        if not order.parked and order.status is not Status.SUPERSEDED:
            classes[group_of(facts.sale, order.shard), order.demand].append(order)
    held = sum(1 for order in facts.orders.values() if order.held_at_ms is not None)
    for orders in classes.values():
        for passed, served in passed_over(orders, late_ms=LATE_MS):
            findings.fault(
                f"order {served} was held while order {passed}, older by acceptance and alike, had been waiting for "
                f"more than {LATE_MS // 1000} s",
                passed,
                served,
            )
    return findings.verdict(
        "I6",
        f"the times of acceptance and hold of {held:,} held orders in {len(classes)} lines of equal demand, within "
        f"the {LATE_MS // 1000} s that an index may lag",
    )


def passed_over(orders: Iterable[OrderFact], *, late_ms: int) -> list[tuple[str, str]]:
    """Return pairs (passed over, served instead) among orders of equal demand.

    An order waits visibly from `late_ms` after its acceptance until it is held or leaves the line. A batch passes it
    over when it holds a younger order within that time.
    """
    orders = list(orders)
    arrivals = sorted((order.accepted_at_ms + late_ms, order.order_id) for order in orders)
    leaves = {order.order_id: _leaves_line_ms(order) for order in orders}
    accepted = {order.order_id: order.accepted_at_ms for order in orders}
    batches = sorted((order.held_at_ms, order.accepted_at_ms, order.order_id) for order in orders if order.held_at_ms)
    waiting: list[tuple[int, str]] = []
    found: list[tuple[str, str]] = []
    at = 0
    for held_at_ms, batch in groupby(batches, key=lambda one: one[0]):
        _, youngest_ms, youngest = max(batch, key=lambda one: one[1])
        while at < len(arrivals) and arrivals[at][0] < held_at_ms:
            order_id = arrivals[at][1]
            heapq.heappush(waiting, (accepted[order_id], order_id))
            at += 1
        while waiting and leaves[waiting[0][1]] <= held_at_ms:
            heapq.heappop(waiting)
        if waiting and waiting[0][0] < youngest_ms:
            found.append((waiting[0][1], youngest))
    return found


def _leaves_line_ms(order: OrderFact) -> int:
    if order.held_at_ms is not None:
        return order.held_at_ms
    if order.status is Status.QUEUED:
        return _NEVER
    # Over its buyer's limit it had no claim on a seat, perhaps long before it was told so.
    return 0 if order.reason is Reason.OVER_BUYER_LIMIT else order.updated_at_ms


def overtaken_orders(facts: Facts) -> int:
    """Count the orders without a seat whose place, among those of equal size, is below the number served.

    Orders that left the line by their buyer's wish or limit have no place.
    """
    by_size: dict[tuple[tuple[str, int], ...], list[OrderFact]] = defaultdict(list)
    for order in facts.orders.values():
        if order.held_at_ms is not None or order.reason in {Reason.SOLD_OUT, Reason.NOT_ENOUGH_SEATS}:
            by_size[tuple((want.pool_id, want.quantity) for want in order.demand)].append(order)
    count = 0
    for orders in by_size.values():
        orders.sort(key=lambda order: (order.accepted_at_ms, order.order_id))
        served = sum(1 for order in orders if order.held_at_ms is not None)
        count += sum(1 for order in orders[:served] if order.held_at_ms is None)
    return count
