"""Moves a batch of orders from queued to held, in one transaction with its slices.

A batch is all or nothing, so whatever stands in its way is found and left out: orders that are gone or over their
buyer's limit by the store's own verdict, an unreadable order and a throttled shard by halving.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from consumers.allocation.stock import Holdings
from consumers.allocation.supersede import supersede
from consumers.tools import Tools
from shared.domain.errors import Broken, Throttled
from shared.domain.order import WorkHint
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.observability import about
from shared.ports.inventory import HoldBatch
from shared.stores.limits import MAX_ACTIONS, MAX_BATCH

# A batch is tried again without the orders that were in its way, so often at most.
MAX_TRIES = 4
_log = logging.getLogger(__name__)

Orders = tuple[WorkHint, ...]


def batch_limit(sale: Sale, size: int) -> int:
    """Return how many orders one transaction may hold: each takes an action, two with its buyer's counter."""
    actions = MAX_ACTIONS - len(sale.pools)
    return max(1, min(size, MAX_BATCH, actions // (1 if sale.max_per_buyer is None else 2)))


def transactions(sale: Sale, orders: Orders) -> Iterator[Orders]:
    """Cut a batch where it has more actions than a transaction takes: each older home of a moved order is one more."""
    part: list[WorkHint] = []
    room = most = MAX_ACTIONS - len(sale.pools)
    for hint in orders:
        actions = (1 if sale.max_per_buyer is None else 2) + len(hint.older_homes)
        if actions > room:
            yield tuple(part)
            part, room = [], most
        part.append(hint)
        room -= actions
    yield tuple(part)


@dataclass(slots=True)
class Holding:
    """One pass's holding, and what became of the orders.

    `short` when seats ran out under the batch; `throttled` are shards to be spared while the others are served.
    """

    tools: Tools
    sale: Sale
    holdings: Holdings
    held: list[OrderKey] = field(default_factory=list)
    gone: list[OrderKey] = field(default_factory=list)
    poison: list[OrderKey] = field(default_factory=list)
    throttled: set[int] = field(default_factory=set)
    short: bool = False

    def hold(self, orders: Orders) -> None:
        """Hold these orders, but those that are in the way. Throttled when that is no single shard's trouble."""
        for part in transactions(self.sale, orders):
            self._hold(part)

    def _hold(self, orders: Orders) -> None:
        for _ in range(MAX_TRIES):
            if not orders or self.short:
                return
            try:
                orders = self._attempt(orders)
            except Throttled:
                self._spare_a_shard(orders)
                return

    def _attempt(self, orders: Orders) -> Orders:
        """Make one attempt; return what may be tried again."""
        now_ms = self.tools.clock.now_ms()
        batch = HoldBatch(
            event_id=self.sale.event_id,
            op=self.tools.ids.op_id(),
            now_ms=now_ms,
            hold_ends_at_ms=now_ms + self.sale.hold_ttl_s * 1000,
            orders=orders,
            slices=self.holdings.slices,
            max_per_buyer=self.sale.max_per_buyer,
        )
        try:
            outcome = self.tools.store.hold_batch(batch)
        except Broken:
            self._find_poison(orders)
            return ()
        if outcome.held:
            self.held += [hint.key for hint in orders]
            for hint in orders:
                _log.info("order held", extra=about(hint.key, hint.correlation_id, "hold"))
            return ()
        for key, other in outcome.superseded.items():
            supersede(self.tools, key, other)
        gone = outcome.gone | outcome.superseded.keys()
        self.gone += [hint.key for hint in orders if hint.key in gone]
        self.short = bool(outcome.short)
        rest = [hint for hint in orders if hint.key not in gone and hint.buyer_id not in outcome.over_limit]
        return tuple(rest) if len(rest) < len(orders) else ()

    def _find_poison(self, orders: Orders) -> None:
        """Halve a batch that contradicts itself until the order that spoils it stands alone."""
        if len(orders) > 1:
            middle = len(orders) // 2
            for half in (orders[:middle], orders[middle:]):
                if not self.short:
                    self._attempt(half)
            return
        key = orders[0].key
        self.poison.append(key)
        self.tools.observe(self.sale.event_id, "order_unreadable", 1)
        _log.error("an order cannot be held", extra={"event_id": key.event_id, "order_id": key.order_id})

    def _spare_a_shard(self, orders: Orders) -> None:
        """Halve a throttled batch by shards until the one in trouble stands alone; two attempts for each halving.

        A batch of one shard's orders says nothing about the others: that shard is spared, and they are tried next.
        """
        suspects = _by_shards(orders)
        while len(suspects) > 1 and (smaller := self._throttled_half(suspects)):
            suspects = smaller
        if len(suspects) > 1 and not (self.held or self.gone):
            raise Throttled
        self.throttled |= set(suspects) - {key.shard for key in self.held}

    def _throttled_half(self, suspects: dict[int, Orders]) -> dict[int, Orders]:
        """Serve the shards of one half and return those of the other; empty when neither or both are throttled."""
        shards = sorted(suspects)
        first, second = shards[: len(shards) // 2], shards[len(shards) // 2 :]
        throttled = [half for half in (first, second) if self._is_throttled(suspects, half)]
        return {shard: suspects[shard] for shard in throttled[0]} if len(throttled) == 1 else {}

    def _is_throttled(self, suspects: dict[int, Orders], shards: list[int]) -> bool:
        orders = sorted((hint for shard in shards for hint in suspects[shard]), key=lambda hint: hint.place)
        try:
            self._attempt(tuple(orders))
        except Throttled:
            return True
        return False


def _by_shards(orders: Orders) -> dict[int, Orders]:
    shards: dict[int, list[WorkHint]] = {}
    for hint in orders:
        shards.setdefault(hint.key.shard, []).append(hint)
    return {shard: tuple(hints) for shard, hints in shards.items()}
