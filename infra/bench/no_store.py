"""A store that takes every order and keeps none, so that a measurement shows what everything else costs."""

from __future__ import annotations

from infra.bench.bench_sale import bench_sale
from shared.domain.order import Order
from shared.ports.control import SaleView
from shared.ports.orders import Accepted
from shared.stores.sqlite import SqliteStore
from shared.system import SystemClock


class NoStore(SqliteStore):
    """Answers from memory; whatever else is asked of it meets an empty store in memory."""

    def __init__(self, clock: SystemClock) -> None:
        """Know the one sale."""
        super().__init__(None, clock)
        self._view = SaleView(bench_sale(clock.now_ms()), None)

    def accept(self, order: Order) -> Accepted:
        """Take an order and forget it."""
        return Accepted(order, created=True)

    def get_sale(self, event_id: str) -> SaleView:  # noqa: ARG002 - there is one
        """Return the sale."""
        return self._view
