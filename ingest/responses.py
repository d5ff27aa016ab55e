"""What buyers and the public are answered: shapes only, built from domain values."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ingest.place_line import LinePlace
from ingest.sentences import sentence
from shared.domain.money import Money
from shared.domain.order import MAX_ATTEMPTS, Duty, Order, PaymentState, Status
from shared.domain.sale import Sale, SaleStatus
from shared.domain.times import format_time_ms
from shared.ports.control import SaleView, Word

_PAYABLE = frozenset({PaymentState.OPEN, PaymentState.DECLINED})


class Answer(BaseModel):
    """A shape of an answer; members without a value are left out."""

    model_config = ConfigDict(frozen=True)


class MoneyAnswer(Answer):
    """An amount in whole minor units, and as people write it."""

    minor: int = Field(examples=[5000])
    currency: str = Field(examples=["EUR"])
    text: str = Field(examples=["50.00 EUR"])


class LineAnswer(Answer):
    """Tickets of one type at the price of one."""

    ticket_type_id: str = Field(examples=["standing"])
    quantity: int
    price: MoneyAnswer


class PlaceAnswer(Answer):
    """An estimate of how many orders stand before this one, and when that was so."""

    ahead: int
    as_of: str
    age_s: float


class HandOffAnswer(Answer):
    """What the buyer's page needs to pay, and until when."""

    client_secret: str
    hold_ends_at: str


class OrderAnswer(Answer):
    """One order as its buyer sees it. Staff see it without payment hand-off, holder and tickets."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "order_id": "1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d",
                    "event_id": "gig",
                    "status": "queued",
                    "sentence": "Your order is in line.",
                    "accepted_at": "2027-03-01T09:00:00.123Z",
                    "lines": [
                        {
                            "ticket_type_id": "standing",
                            "quantity": 2,
                            "price": {"minor": 2500, "currency": "EUR", "text": "25.00 EUR"},
                        }
                    ],
                    "amount": {"minor": 5000, "currency": "EUR", "text": "50.00 EUR"},
                    "place": {"ahead": 1200, "as_of": "2027-03-01T09:00:04.000Z", "age_s": 0.6},
                    "poll_after_s": 3.2,
                }
            ]
        }
    )

    order_id: str
    event_id: str
    status: Status
    sentence: str
    reason: str | None = Field(default=None, description="Why the order ended without tickets.")
    accepted_at: str
    lines: list[LineAnswer]
    amount: MoneyAnswer
    holder: str | None = None
    hold_ends_at: str | None = None
    place: PlaceAnswer | None = None
    poll_after_s: float | None = Field(
        default=None, description="Seconds until the next useful look; absent when nothing will change any more."
    )
    decline_code: str | None = Field(default=None, description="Why the last card was declined.")
    tries_left: int | None = Field(default=None, description="With how many other cards the order may be tried.")
    refund_due: MoneyAnswer | None = Field(default=None, description="What is to be paid back in all.")
    refunded: MoneyAnswer | None = Field(default=None, description="What has been paid back.")
    payment: HandOffAnswer | None = None
    tickets: list[str] | None = None


class TypeAnswer(Answer):
    """One ticket type with its price and availability."""

    ticket_type_id: str
    name: str
    price: MoneyAnswer
    availability: Word


class EventAnswer(Answer):
    """A sale as anyone may see it; some seconds old by nature."""

    event_id: str
    name: str
    status: Literal["not-on-sale-yet", "open", "paused", "closed", "cancelled"]
    opens_at: str
    closes_at: str
    server_time: str
    max_per_order: int
    max_per_buyer: int | None = None
    hold_ttl_s: int
    waiting: int | None = Field(default=None, description="Orders in line at `as_of`.")
    as_of: str | None = Field(default=None, description="When the workers last said how the sale goes.")
    ticket_types: list[TypeAnswer]


class HealthAnswer(Answer):
    """Whether this process can do its work."""

    status: Literal["ok"]


@lru_cache(maxsize=1024)
def money_answer(money: Money) -> MoneyAnswer:
    """Write an amount; a sale has few prices, and their sums are few."""
    return MoneyAnswer(minor=money.minor, currency=money.currency, text=str(money))


def order_answer(
    order: Order, *, own: bool, place: LinePlace | None, poll_after_s: float | None, now_ms: int
) -> OrderAnswer:
    """Write an order. `own` says whether its buyer asks: nobody else is shown how to pay, the holder or the tickets."""
    currency = order.amount.currency
    return OrderAnswer(
        order_id=order.key.order_id,
        event_id=order.key.event_id,
        status=order.status,
        sentence=sentence(order),
        reason=None if order.reason is None else str(order.reason),
        accepted_at=format_time_ms(order.accepted_at_ms),
        lines=[
            LineAnswer(
                ticket_type_id=line.ticket_type_id,
                quantity=line.quantity,
                price=money_answer(Money(line.price_minor, currency)),
            )
            for line in order.lines
        ],
        amount=money_answer(order.amount),
        holder=order.holder if own else None,
        hold_ends_at=_hold_ends_at(order),
        place=None if place is None else _place_answer(place, now_ms),
        poll_after_s=poll_after_s,
        decline_code=order.payment.decline_code if order.status is Status.HELD else None,
        tries_left=_tries_left(order),
        refund_due=_some_money(order.payment.refund_due_minor, currency),
        refunded=_some_money(order.payment.refunded_minor, currency),
        payment=_hand_off(order) if own else None,
        tickets=list(order.tickets) if own and order.status is Status.CONFIRMED else None,
    )


def event_answer(view: SaleView, now_ms: int) -> EventAnswer:
    """Write a sale for the public: never the salt, nor how it is cut."""
    sale, notice = view.sale, view.notice
    return EventAnswer(
        event_id=sale.event_id,
        name=sale.name,
        status=_sale_status(sale, now_ms),
        opens_at=format_time_ms(sale.opens_at_ms),
        closes_at=format_time_ms(sale.closes_at_ms),
        server_time=format_time_ms(now_ms),
        max_per_order=sale.max_per_order,
        max_per_buyer=sale.max_per_buyer,
        hold_ttl_s=sale.hold_ttl_s,
        waiting=None if notice is None else notice.waiting,
        as_of=None if notice is None else format_time_ms(notice.at_ms),
        ticket_types=[
            TypeAnswer(
                ticket_type_id=kind.ticket_type_id,
                name=kind.name,
                price=money_answer(sale.price(kind)),
                availability=_availability(view, kind.pool_id),
            )
            for kind in sale.ticket_types
        ],
    )


def _tries_left(order: Order) -> int | None:
    if order.status is not Status.HELD or order.payment.state is not PaymentState.DECLINED:
        return None
    return max(0, MAX_ATTEMPTS - order.payment.attempt)


def _some_money(minor: int, currency: str) -> MoneyAnswer | None:
    return money_answer(Money(minor, currency)) if minor else None


def _hold_ends_at(order: Order) -> str | None:
    ends_at_ms = order.duties.get(Duty.HOLD_END)
    if order.status is not Status.HELD or ends_at_ms is None:
        return None
    return format_time_ms(ends_at_ms)


def _hand_off(order: Order) -> HandOffAnswer | None:
    hold_ends_at = _hold_ends_at(order)
    secret = order.payment.client_secret
    if hold_ends_at is None or secret is None or order.payment.state not in _PAYABLE or Duty.CLOSE in order.duties:
        return None
    return HandOffAnswer(client_secret=secret, hold_ends_at=hold_ends_at)


def _place_answer(place: LinePlace, now_ms: int) -> PlaceAnswer:
    age_s = max(0, now_ms - place.as_of_ms) / 1000
    return PlaceAnswer(ahead=place.ahead, as_of=format_time_ms(place.as_of_ms), age_s=age_s)


def _sale_status(sale: Sale, now_ms: int) -> Literal["not-on-sale-yet", "open", "paused", "closed", "cancelled"]:
    if sale.status is SaleStatus.CANCELLED:
        return "cancelled"
    if sale.ended(now_ms):
        return "closed"
    if now_ms < sale.opens_at_ms:
        return "not-on-sale-yet"
    return "paused" if sale.status is SaleStatus.PAUSED else "open"


def _availability(view: SaleView, pool_id: str) -> Word:
    pool = view.notice.pools.get(pool_id) if view.notice is not None else None
    return Word.AVAILABLE if pool is None else pool.word
