"""The rules of a sale for one order: pure, from a wish to what it takes, or a refusal that names the field."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from shared.domain.discreet import Discreet
from shared.domain.errors import Conflicting, Invalid
from shared.domain.money import Money
from shared.domain.order import Demand, Line
from shared.domain.sale import Sale
from shared.ports.control import Notice, SaleView


class OrderWish(Discreet, frozen=True):
    """What a buyer asks for, as understood by the door. `lines` holds (ticket type id, quantity)."""

    hidden: ClassVar = frozenset({"holder"})

    event_id: str
    buyer_id: str
    idempotency_key: str | None
    lines: tuple[tuple[str, int], ...]
    payment_method: str | None
    holder: str | None
    fingerprint: str
    correlation_id: str = ""


class Basket(Struct, frozen=True):
    """The wish at the sale's prices, and the seats it takes of each pool."""

    lines: tuple[Line, ...]
    demand: tuple[Demand, ...]
    amount: Money


def fill_basket(view: SaleView, wish: OrderWish) -> Basket:
    """Price the wish; Invalid when it breaks a limit of the sale, whatever else is going on."""
    sale = view.sale
    lines: list[Line] = []
    seats: dict[str, int] = {}
    for at, (ticket_type_id, quantity) in enumerate(wish.lines):
        kind = sale.ticket_type(ticket_type_id)
        if kind is None:
            raise Invalid(
                "The sale has no such ticket type.", field=f"lines.{at}.ticket_type_id", code="unknown-ticket-type"
            )
        lines.append(Line(ticket_type_id, quantity, kind.price_minor))
        seats[kind.pool_id] = seats.get(kind.pool_id, 0) + quantity
    _check_limits(sale, sum(seats.values()))
    for pool_id, quantity in seats.items():
        capacity = sale.pool(pool_id).capacity
        if quantity > capacity:
            raise Invalid(
                f"The order takes {quantity} seats where there are {capacity} in all.",
                field="lines",
                code="over-capacity",
            )
    amount = Money(sum(line.price_minor * line.quantity for line in lines), sale.currency)
    demand = tuple(Demand(pool_id, quantity, _round_of(view, pool_id)) for pool_id, quantity in seats.items())
    return Basket(tuple(lines), demand, amount)


def refuse_if_sold_out(notice: Notice | None, demand: tuple[Demand, ...]) -> None:
    """Raise Conflicting when a pool of the order was last seen sold out, for a party is served whole or not at all."""
    if notice is None:
        return
    for want in demand:
        pool = notice.pools.get(want.pool_id)
        if pool is not None and pool.sold_out:
            raise Conflicting("The tickets are sold out.", code="sold-out")


def _check_limits(sale: Sale, quantity: int) -> None:
    if quantity > sale.max_per_order:
        raise Invalid(
            f"An order has {sale.max_per_order} tickets at most, this one {quantity}.",
            field="lines",
            code="over-order-limit",
        )
    if sale.max_per_buyer is not None and quantity > sale.max_per_buyer:
        raise Invalid(
            f"A buyer gets {sale.max_per_buyer} tickets at most, this order has {quantity}.",
            field="lines",
            code="over-buyer-limit",
        )


def _round_of(view: SaleView, pool_id: str) -> int:
    pool = view.notice.pools.get(pool_id) if view.notice is not None else None
    return 0 if pool is None else pool.round
