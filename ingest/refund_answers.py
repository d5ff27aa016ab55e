"""What staff are told of refunds."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer, MoneyAnswer, money_answer
from shared.domain.money import Money
from shared.domain.order import Order, Status


class RefundAnswer(Answer):
    """An order's money."""

    order_id: str
    event_id: str
    status: Status
    reason: str | None = None
    captured: MoneyAnswer
    refund_due: MoneyAnswer = Field(description="What is to be paid back in all.")
    refunded: MoneyAnswer = Field(description="What the payment service has paid back, as last seen.")


class RefundPageAnswer(Answer):
    """Orders of one page, counted as they stand now; amounts in minor units of the sale's currency."""

    orders: int
    ordered: int = Field(description="Refunds ordered by this request.")
    confirmed: int = Field(description="Orders that still have their tickets.")
    waiting: int = Field(description="Orders that have not come to an end.")
    parked: int = Field(description="Orders that wait for a person.")
    captured_minor: int
    refunded_minor: int
    owed_minor: int = Field(description="Ordered back and not yet paid back.")
    kept_minor: int = Field(description="Captured and not ordered back.")
    cursor: str | None = None


def refund_answer(order: Order) -> RefundAnswer:
    """Write an order's money."""
    payment, currency = order.payment, order.amount.currency
    return RefundAnswer(
        order_id=order.key.order_id,
        event_id=order.key.event_id,
        status=order.status,
        reason=None if order.reason is None else str(order.reason),
        captured=money_answer(Money(payment.captured_minor, currency)),
        refund_due=money_answer(Money(payment.refund_due_minor, currency)),
        refunded=money_answer(Money(payment.refunded_minor, currency)),
    )
