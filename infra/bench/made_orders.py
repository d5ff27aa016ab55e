"""Sales and orders as the door would store them, without the door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain.money import Money
from shared.domain.order import Demand, Line, Order, Payment
from shared.domain.order_id import order_key
from shared.domain.sale import SALT_BYTES, Pool, Sale, TicketType
from shared.ports.system import Ids

POOL, TYPE = "floor", "standing"
PRICE_MINOR = 2_500
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class SaleShape:
    """What differs between the sales that are measured."""

    event_id: str
    capacity: int
    shards: int
    max_per_buyer: int | None = None
    slices: int = 1


def make_sale(shape: SaleShape, now_ms: int) -> Sale:
    """Make a sale that is open now: one pool, one ticket type."""
    return Sale(
        event_id=shape.event_id,
        name=f"Bench {shape.event_id}",
        currency="EUR",
        opens_at_ms=now_ms - HOUR_MS,
        closes_at_ms=now_ms + 24 * HOUR_MS,
        pools=(Pool(POOL, shape.capacity, shape.slices),),
        ticket_types=(TicketType(TYPE, "Standing", POOL, PRICE_MINOR),),
        salt=bytes(SALT_BYTES),
        shard_counts=(shape.shards,),
        max_per_buyer=shape.max_per_buyer,
    )


def make_orders(sale: Sale, ids: Ids, count: int, now_ms: int) -> Iterator[Order]:
    """Make `count` orders of one ticket each, every one of another buyer, a millisecond apart."""
    for number in range(count):
        digest = ids.random_bytes(16)
        yield Order(
            key=order_key(sale.event_id, digest, sale.shard_counts, sale.map_version),
            buyer_id=f"auth0|{digest.hex()[:24]}",
            lines=(Line(TYPE, 1, PRICE_MINOR),),
            demand=(Demand(POOL, 1, 0),),
            amount=Money(PRICE_MINOR, sale.currency),
            accepted_at_ms=now_ms + number,
            fingerprint=digest.hex() * 2,
            payment=Payment(method="pm_card_visa"),
            op=ids.op_id(),
        )
