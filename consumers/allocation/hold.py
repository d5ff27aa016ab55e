"""Moves a batch of orders from queued to held, in one transaction with its slices."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from consumers.allocation.stock import Holdings
from consumers.tools import Tools
from shared.domain.errors import Broken
from shared.domain.order import WorkHint
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.ports import HoldBatch
from shared.stores.limits import MAX_ACTIONS, MAX_BATCH

# A batch is tried again without the orders that were in its way, so often at most.
MAX_TRIES = 4
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Held:
    """What became of the orders that were to be held; `short` when seats ran out under the batch."""

    held: list[OrderKey] = field(default_factory=list)
    gone: list[OrderKey] = field(default_factory=list)
    poison: list[OrderKey] = field(default_factory=list)
    short: bool = False


def batch_limit(sale: Sale, size: int) -> int:
    """Return how many orders one transaction may hold: each takes an action, two with its buyer's counter."""
    actions = MAX_ACTIONS - len(sale.pools)
    return max(1, min(size, MAX_BATCH, actions // (1 if sale.max_per_buyer is None else 2)))


def hold_orders(tools: Tools, sale: Sale, holdings: Holdings, orders: tuple[WorkHint, ...]) -> Held:
    """Hold these orders, leaving out those that turn out to be gone, over their buyer's limit, or unreadable."""
    done = Held()
    for _ in range(MAX_TRIES):
        if not orders or done.short:
            break
        orders = _try(tools, sale, holdings, orders, done)
    return done


def _try(
    tools: Tools, sale: Sale, holdings: Holdings, orders: tuple[WorkHint, ...], done: Held
) -> tuple[WorkHint, ...]:
    """Try one batch; return what may be tried again."""
    now_ms = tools.clock.now_ms()
    batch = HoldBatch(
        event_id=sale.event_id,
        op=tools.ids.op_id(),
        now_ms=now_ms,
        hold_ends_at_ms=now_ms + sale.hold_ttl_s * 1000,
        orders=orders,
        slices=holdings.slices,
        max_per_buyer=sale.max_per_buyer,
    )
    try:
        outcome = tools.store.hold_batch(batch)
    except Broken:
        return _find_poison(tools, sale, holdings, orders, done)
    if outcome.held:
        done.held += [hint.key for hint in orders]
        return ()
    done.gone += [hint.key for hint in orders if hint.key in outcome.gone]
    done.short = bool(outcome.short)
    rest = [hint for hint in orders if hint.key not in outcome.gone and hint.buyer_id not in outcome.over_limit]
    return tuple(rest) if len(rest) < len(orders) else ()


def _find_poison(
    tools: Tools, sale: Sale, holdings: Holdings, orders: tuple[WorkHint, ...], done: Held
) -> tuple[WorkHint, ...]:
    """Halve a batch that contradicts itself until the order that spoils it stands alone."""
    if len(orders) > 1:
        middle = len(orders) // 2
        for half in (orders[:middle], orders[middle:]):
            if not done.short:
                _try(tools, sale, holdings, half, done)
        return ()
    key = orders[0].key
    done.poison.append(key)
    tools.observe(sale.event_id, "order_unreadable", 1)
    _log.error("an order cannot be held", extra={"event_id": key.event_id, "order_id": key.order_id})
    return ()
