"""A wish becomes one stored order by one conditional write; stock and money are never waited for."""

from __future__ import annotations

from msgspec import Struct

from ingest.first_attempt import address_of, find_older, first_attempt, follow, same_wish
from ingest.order_rules import Basket, OrderWish, fill_basket, refuse_if_sold_out
from ingest.parts import Parts
from shared.domain.errors import Moved, Refused
from shared.domain.order import Order, Payment
from shared.ports.control import SaleView


class Placed(Struct, frozen=True):
    """The order that stands for a wish, whether this request stored it, and the sale as it was known."""

    order: Order
    created: bool
    view: SaleView


def place_order(parts: Parts, wish: OrderWish) -> Placed:
    """Store the order of a wish, or return the one that its idempotency key already named.

    Raises NotFound, Conflicting and Invalid by the rules of the sale, KeyReused, TooFast, OverBudget, Unavailable.
    """
    view = parts.sales.get(wish.event_id)
    now_ms = parts.clock.now_ms()
    try:
        basket = _check(view, wish, now_ms)
    except Refused:
        # The first attempt of this key may have been taken when the rules were still others.
        earlier = first_attempt(parts, view.sale, wish)
        if earlier is None:
            raise
        return Placed(earlier, created=False, view=view)
    parts.guard.admit(wish.buyer_id)
    parts.admission.admit(view.sale)
    address = address_of(view.sale, wish, parts.ids)
    older = find_older(parts, wish, address)
    if older is not None:
        return Placed(older, created=False, view=view)
    order = Order(
        key=address.home,
        buyer_id=wish.buyer_id,
        lines=basket.lines,
        demand=basket.demand,
        amount=basket.amount,
        accepted_at_ms=now_ms,
        fingerprint=wish.fingerprint,
        holder=wish.holder,
        correlation_id=wish.correlation_id,
        op=parts.ids.op_id(),
        payment=Payment(method=wish.payment_method),
        older_homes=address.older,
    )
    try:
        accepted = parts.store.accept(order)
    except Moved as moved:
        return Placed(follow(parts, wish, moved.order_id), created=False, view=view)
    return Placed(same_wish(parts, accepted.order, wish), accepted.created, view)


def _check(view: SaleView, wish: OrderWish, now_ms: int) -> Basket:
    view.sale.refuse_unless_accepting(now_ms)
    basket = fill_basket(view, wish)
    refuse_if_sold_out(view.notice, basket.demand)
    return basket
