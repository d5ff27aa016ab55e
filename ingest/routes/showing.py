"""An order as whoever asks may see it."""

from __future__ import annotations

from ingest.parts import Parts
from ingest.place_line import estimate_place
from ingest.poll_pace import poll_after_s
from ingest.responses import OrderAnswer, order_answer
from shared.domain.order import Order
from shared.ports.control import SaleView


def show_order(parts: Parts, order: Order, view: SaleView, *, own: bool) -> OrderAnswer:
    """Write an order with its place in line and the time of the next useful look; `own` as in `order_answer`."""
    place = estimate_place(order, view.notice)
    return order_answer(
        order,
        own=own,
        place=place,
        poll_after_s=poll_after_s(order, view.sale, view.notice, place, parts.ids, reads_per_s=parts.reads_per_s),
        now_ms=parts.clock.now_ms(),
    )
