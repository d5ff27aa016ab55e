"""What a buyer is told of all their orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ingest.own_orders import OwnOrders
from ingest.responses import Answer, MoneyAnswer, money_answer
from shared.domain.money import Money
from shared.domain.order import Status
from shared.domain.times import format_time_ms

if TYPE_CHECKING:
    from shared.ports.buyer_orders import BuyerOrder


class OwnOrderAnswer(Answer):
    """One order as last heard of; `href` has its present state, its tickets and how to pay."""

    order_id: str
    event_id: str
    href: str = Field(examples=["/v1/events/gig/orders/1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d"])
    status: Status
    reason: str | None = None
    quantity: int
    amount: MoneyAnswer
    refunded: MoneyAnswer | None = None
    accepted_at: str
    updated_at: str = Field(description="When the order came to stand like this.")


class OwnOrdersAnswer(Answer):
    """A page of the buyer's orders, newest first.

    Copied from the stream of changes, usually a second or two late: `as_of` is the newest change of anybody's order
    that the copies know of, `age_s` how long ago that was. An order that was just accepted may not stand here yet.
    """

    orders: list[OwnOrderAnswer]
    as_of: str | None = None
    age_s: float | None = None
    cursor: str | None = None


def own_orders_answer(page: OwnOrders, now_ms: int) -> OwnOrdersAnswer:
    """Write a page."""
    return OwnOrdersAnswer(
        orders=[_order(order) for order in page.orders],
        as_of=None if page.as_of_ms is None else format_time_ms(page.as_of_ms),
        age_s=None if page.as_of_ms is None else max(0, now_ms - page.as_of_ms) / 1000,
        cursor=page.cursor,
    )


def _order(order: BuyerOrder) -> OwnOrderAnswer:
    currency = order.amount.currency
    return OwnOrderAnswer(
        order_id=order.order_id,
        event_id=order.event_id,
        href=f"/v1/events/{order.event_id}/orders/{order.order_id}",
        status=order.status,
        reason=order.reason,
        quantity=order.quantity,
        amount=money_answer(order.amount),
        refunded=money_answer(Money(order.refunded_minor, currency)) if order.refunded_minor else None,
        accepted_at=format_time_ms(order.accepted_at_ms),
        updated_at=format_time_ms(order.updated_at_ms),
    )
