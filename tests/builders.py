"""Small makers of domain values for tests: every argument has a plain default."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shared.domain.money import Money
from shared.domain.order import Demand, Lane, Line, Order, Payment, WorkHint
from shared.domain.order_id import OrderKey, order_key
from shared.domain.sale import Pool, Sale, TicketType

SALT = bytes(range(16))


def make_sale(**changes: Any) -> Sale:  # noqa: ANN401 - as `replace` takes them
    """Make an open sale of one pool of ten seats and one ticket type at 25.00 EUR on four shards."""
    sale = Sale(
        event_id="gig",
        name="The Gig",
        currency="EUR",
        opens_at_ms=1_000,
        closes_at_ms=1_000_000_000,
        pools=(Pool("floor", 10),),
        ticket_types=(TicketType("standing", "Standing", "floor", 2_500),),
        salt=SALT,
        shard_counts=(4,),
        hold_ttl_s=60,
    )
    return replace(sale, **changes)


def make_order(number: int = 1, *, buyer: str = "ann", quantity: int = 1, **changes: Any) -> Order:  # noqa: ANN401 - as `replace` takes them
    """Make a queued order of `quantity` standing tickets, placed under the sale of `make_sale`."""
    order = Order(
        key=order_key("gig", number.to_bytes(16, "big"), (4,), 1),
        buyer_id=buyer,
        lines=(Line("standing", quantity, 2_500),),
        demand=(Demand("floor", quantity, 0),),
        amount=Money(2_500 * quantity, "EUR"),
        accepted_at_ms=2_000 + number,
        fingerprint=f"{number:032x}",
        payment=Payment(method="pm_card_visa"),
    )
    return replace(order, **changes)


def make_hint(number: int, *, buyer: str | None = None, quantity: int = 1, round_no: int = 0) -> WorkHint:
    """Make the line entry of order `number`; each has a buyer of its own unless one is given."""
    return WorkHint(
        key=OrderKey("gig", number % 4, f"1-{number:032x}"),
        lane=Lane.LINE,
        at_ms=number,
        buyer_id=buyer or f"buyer-{number}",
        demand=(Demand("floor", quantity, round_no),),
        accepted_at_ms=number,
    )
