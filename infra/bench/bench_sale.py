"""The sale that benchmarks place their orders in: one hot event without end."""

from __future__ import annotations

from shared.domain.money import Money
from shared.domain.order import Demand, Line, Order, Payment
from shared.domain.order_id import home_of
from shared.domain.sale import Pool, Sale, TicketType

EVENT = "bench"
SHARDS = 128
DAY_MS = 86_400_000


def bench_sale(now_ms: int) -> Sale:
    """Make a sale that is open, never sold out, and whose budget nobody reaches."""
    return Sale(
        event_id=EVENT,
        name="A benchmark's sale",
        currency="EUR",
        opens_at_ms=now_ms - DAY_MS,
        closes_at_ms=now_ms + DAY_MS,
        pools=(Pool("floor", 10_000_000),),
        ticket_types=(TicketType("standing", "Standing", "floor", 2_500),),
        salt=bytes(range(16)),
        shard_counts=(SHARDS,),
        accept_per_s=1_000_000,
    )


def bench_order(number: int, now_ms: int) -> Order:
    """Make the order that the door would store for one of the benchmark's requests."""
    digest = number.to_bytes(16, "big")
    return Order(
        key=home_of(EVENT, digest, (SHARDS,)),
        buyer_id=f"buyer-{number % 2_000}",
        lines=(Line("standing", 2, 2_500),),
        demand=(Demand("floor", 2, 0),),
        amount=Money(5_000, "EUR"),
        accepted_at_ms=now_ms,
        fingerprint=f"{number:064x}",
        correlation_id=f"{number:012x}-1",
        op=f"{number:016x}",
        payment=Payment(method="pm_card_visa"),
    )
