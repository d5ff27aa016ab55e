"""A repeated request meets its own first attempt, under whichever version of the shard map that was stored."""

from __future__ import annotations

from msgspec import Struct

from ingest.errors import KeyReused
from ingest.idempotency_key import HEADER
from ingest.order_rules import OrderWish
from ingest.parts import Parts
from ingest.read_order import find_order
from shared.domain.errors import Moved
from shared.domain.order import Order, Status
from shared.domain.order_id import ID_BYTES, OrderKey, home_of, older_homes, order_digest
from shared.domain.sale import Sale
from shared.ports.system import Ids

# Part of what an order id is a hash of: a key used on another route names something else.
ROUTE = "POST /v1/events/{event_id}/orders"


class Address(Struct, frozen=True):
    """Where a wish is stored under the map as known, and where an older map would have stored it."""

    home: OrderKey
    older: tuple[OrderKey, ...] = ()


def address_of(sale: Sale, wish: OrderWish, ids: Ids) -> Address:
    """Place a wish; one without a key is stored under a random id, which nobody can have stored before."""
    if wish.idempotency_key is None:
        return Address(home_of(wish.event_id, ids.random_bytes(ID_BYTES), sale.shard_counts))
    return _keyed_address(sale, wish, wish.idempotency_key)


def find_older(parts: Parts, wish: OrderWish, address: Address) -> Order | None:
    """Return the order that this key already has at an older home, or None. KeyReused when it was another wish."""
    for home in address.older:
        order = _at(parts, wish, home)
        if order is not None:
            return order
    return None


def first_attempt(parts: Parts, sale: Sale, wish: OrderWish) -> Order | None:
    """Return the order that this key has at any of its homes, or None. KeyReused when it was another wish."""
    if wish.idempotency_key is None:
        return None
    address = _keyed_address(sale, wish, wish.idempotency_key)
    return _at(parts, wish, address.home) or find_older(parts, wish, address)


def follow(parts: Parts, wish: OrderWish, order_id: str) -> Order:
    """Read the order that a tombstone or a superseded order leads to."""
    order, _ = find_order(parts, wish.event_id, order_id)
    return same_wish(parts, order, wish)


def same_wish(parts: Parts, order: Order, wish: OrderWish) -> Order:
    """Return the order that counts for its key; KeyReused when it was made by another wish."""
    if order.fingerprint != wish.fingerprint:
        raise KeyReused(field=HEADER)
    if order.status is Status.SUPERSEDED and order.superseded_by is not None:
        return follow(parts, wish, order.superseded_by)
    return order


def _keyed_address(sale: Sale, wish: OrderWish, idempotency_key: str) -> Address:
    digest = order_digest(
        sale.salt, route=ROUTE, event_id=wish.event_id, buyer_id=wish.buyer_id, idempotency_key=idempotency_key
    )
    home = home_of(wish.event_id, digest, sale.shard_counts)
    return Address(home, older_homes(wish.event_id, digest, sale.shard_counts))


def _at(parts: Parts, wish: OrderWish, home: OrderKey) -> Order | None:
    try:
        order = parts.store.get_order(home)
    except Moved as moved:
        return follow(parts, wish, moved.order_id)
    return None if order is None else same_wish(parts, order, wish)
