"""A wish becomes one stored order by one conditional write; stock and money are never waited for."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.errors import KeyReused
from ingest.idempotency_key import HEADER
from ingest.order_rules import Basket, OrderWish, fill_basket, refuse_if_sold_out
from ingest.parts import Parts
from shared.domain.errors import AnswerLost, Refused
from shared.domain.order import Order, Payment
from shared.domain.order_id import ID_BYTES, OrderKey, order_digest, order_key
from shared.domain.sale import Sale
from shared.ports import Accepted, Ids, SaleView

# Part of what an order id is a hash of: a key used on another route names something else.
ROUTE = "POST /v1/events/{event_id}/orders"


@dataclass(frozen=True, slots=True)
class Placed:
    """The order that stands for a wish, whether this request stored it, and the sale as it was known."""

    order: Order
    created: bool
    view: SaleView


def place_order(parts: Parts, wish: OrderWish) -> Placed:
    """Store the order of a wish, or return the one that its idempotency key already named.

    Raises NotFound, Conflicting and Invalid by the rules of the sale, KeyReused, OverBudget, Unavailable.
    """
    view = parts.sales.get(wish.event_id)
    key = _key_of(view.sale, wish, parts.ids)
    now_ms = parts.clock.now_ms()
    try:
        basket = _check(view, wish, now_ms)
    except Refused:
        # The first attempt of this key may have been taken when the rules were still others.
        earlier = _earlier(parts, wish, key)
        if earlier is None:
            raise
        return Placed(earlier, created=False, view=view)
    parts.admission.admit(view.sale)
    order = Order(
        key=key,
        buyer_id=wish.buyer_id,
        lines=basket.lines,
        demand=basket.demand,
        amount=basket.amount,
        accepted_at_ms=now_ms,
        fingerprint=wish.fingerprint,
        holder=wish.holder,
        op=parts.ids.op_id(),
        payment=Payment(method=wish.payment_method),
    )
    accepted = _accept(parts, order)
    return Placed(_same_wish(accepted.order, wish), accepted.created, view)


def _check(view: SaleView, wish: OrderWish, now_ms: int) -> Basket:
    view.sale.refuse_unless_accepting(now_ms)
    basket = fill_basket(view, wish)
    refuse_if_sold_out(view.notice, basket.demand)
    return basket


def _accept(parts: Parts, order: Order) -> Accepted:
    try:
        return parts.store.accept(order)
    except AnswerLost:
        # The same write again finds its own work. It matters most without a key: the buyer's own repeat would be
        # another order.
        return parts.store.accept(order)


def _earlier(parts: Parts, wish: OrderWish, key: OrderKey) -> Order | None:
    if wish.idempotency_key is None:
        return None
    order = parts.store.get_order(key)
    return None if order is None else _same_wish(order, wish)


def _same_wish(order: Order, wish: OrderWish) -> Order:
    if order.fingerprint != wish.fingerprint:
        raise KeyReused(field=HEADER)
    return order


def _key_of(sale: Sale, wish: OrderWish, ids: Ids) -> OrderKey:
    if wish.idempotency_key is None:
        digest = ids.random_bytes(ID_BYTES)
    else:
        digest = order_digest(
            sale.salt,
            route=ROUTE,
            event_id=wish.event_id,
            buyer_id=wish.buyer_id,
            idempotency_key=wish.idempotency_key,
        )
    return order_key(wish.event_id, digest, sale.shard_counts, sale.map_version)
