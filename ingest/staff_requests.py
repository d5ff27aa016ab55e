"""What staff may send: the definition of a sale, how far a pause goes, what is paid back."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct
from pydantic import AfterValidator, ConfigDict, Field

from ingest.requests import Strict, printable
from shared.domain.errors import Invalid
from shared.domain.money import MAX_MINOR, Money, money_from_decimal
from shared.domain.sale import (
    MAX_CAPACITY,
    MAX_ORDER_QUANTITY,
    MAX_POOLS,
    MAX_SHARDS,
    MAX_SLICES,
    MAX_TICKET_TYPES,
    Pool,
    Sale,
    TicketType,
    WhenShort,
    check_sale,
)
from shared.domain.times import parse_time_ms

Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable)]
Id = Annotated[str, Field(min_length=1, max_length=64)]
Time = Annotated[str, Field(max_length=40, examples=["2027-03-01T10:00:00+01:00"])]


class PoolRequest(Strict):
    """A capacity pool."""

    pool_id: Id = Field(examples=["floor"])
    capacity: int = Field(ge=1, le=MAX_CAPACITY, examples=[1000])
    slices: int = Field(default=1, ge=1, le=MAX_SLICES, description="Counters the capacity is kept in.")


class TicketTypeRequest(Strict):
    """A ticket type: its price either in whole minor units or as exact decimal text."""

    ticket_type_id: Id = Field(examples=["standing"])
    name: Name = Field(examples=["Standing"])
    pool_id: Id = Field(examples=["floor"])
    price_minor: int | None = Field(default=None, ge=0, le=MAX_MINOR, examples=[2500])
    price: str | None = Field(default=None, pattern=r"^[0-9]{1,16}(\.[0-9]{1,4})?$", examples=["25.00"])


class SaleRequest(Strict):
    """The definition of a sale. Times carry an offset; opening is inclusive, closing exclusive."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "event_id": "gig",
                    "name": "The Gig",
                    "currency": "EUR",
                    "opens_at": "2027-03-01T10:00:00+01:00",
                    "closes_at": "2027-03-08T10:00:00+01:00",
                    "pools": [{"pool_id": "floor", "capacity": 1000}],
                    "ticket_types": [
                        {"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", "price": "25.00"}
                    ],
                }
            ]
        }
    )

    event_id: Id = Field(examples=["gig"])
    name: Name = Field(examples=["The Gig"])
    currency: str = Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code.", examples=["EUR"])
    opens_at: Time
    closes_at: Time
    pools: list[PoolRequest] = Field(min_length=1, max_length=MAX_POOLS)
    ticket_types: list[TicketTypeRequest] = Field(min_length=1, max_length=MAX_TICKET_TYPES)
    shards: int = Field(default=16, ge=1, le=MAX_SHARDS)
    max_per_order: int = Field(default=10, ge=1, le=MAX_ORDER_QUANTITY)
    max_per_buyer: int | None = Field(default=None, ge=1, le=MAX_CAPACITY)
    hold_ttl_s: int = Field(default=600, ge=1, le=86_400)
    accept_per_s: int = Field(default=100_000, ge=1, le=10_000_000, description="The whole system's budget.")
    when_short: Annotated[WhenShort, Field(strict=False)] = WhenShort.WAIT
    fulfilment: bool = False


class PauseRequest(Strict):
    """How far a pause goes."""

    all: bool = Field(default=False, description="Also stop giving out seats; payment and expiry go on.")


class ReshardRequest(Strict):
    """How many shards a running sale is to have."""

    shards: int = Field(ge=1, le=MAX_SHARDS, examples=[64], description="Not fewer than it has.")


class PoolChangeRequest(Strict):
    """One figure of a pool as it is to be, so that sending it again changes nothing."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"capacity": 1100}, {"withheld": 20}]})

    capacity: int | None = Field(default=None, ge=1, le=MAX_CAPACITY, description="Seats in all.")
    withheld: int | None = Field(
        default=None, ge=0, le=MAX_CAPACITY, description="Seats set aside; fewer than before: sold again."
    )


class SeatsThen(StrEnum):
    """What becomes of the seats of an order that is paid back whole."""

    SELL_AGAIN = "sell_again"
    WITHHOLD = "withhold"


class RefundRequest(Strict):
    """How much to pay back. Totals, so that sending it again changes nothing."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"total_minor": 500}, {"seats": "sell_again"}, {"seats": "withhold"}]}
    )

    total_minor: int | None = Field(
        default=None,
        ge=1,
        le=MAX_MINOR,
        description="What the buyer is to get back in all, who keeps the tickets. Without it everything is paid back, "
        "and the tickets are void.",
    )
    seats: Annotated[SeatsThen, Field(strict=False)] | None = Field(
        default=None, description="For a whole refund: whether the seats are sold again (the default) or withheld."
    )


class RefundPageRequest(Strict):
    """Which orders of a cancelled sale to pay back."""

    shard: int = Field(ge=0, lt=MAX_SHARDS)
    cursor: str | None = Field(default=None, pattern=r"^[!-~]{1,200}$")
    limit: int = Field(default=25, ge=1, le=100)
    dry_run: bool = Field(default=False, description="Only count.")


class PricedAt(Struct, frozen=True):
    """A price with the field that set it."""

    price: Money
    field: str


def sale_of(request: SaleRequest, salt: bytes) -> Sale:
    """Build the sale; Invalid, naming the field, when the definition breaks a rule."""
    sale = Sale(
        event_id=request.event_id,
        name=request.name,
        currency=request.currency,
        opens_at_ms=parse_time_ms(request.opens_at, "opens_at"),
        closes_at_ms=parse_time_ms(request.closes_at, "closes_at"),
        pools=tuple(Pool(pool.pool_id, pool.capacity, pool.slices) for pool in request.pools),
        ticket_types=tuple(
            TicketType(kind.ticket_type_id, kind.name, kind.pool_id, _price(request, at).price.minor)
            for at, kind in enumerate(request.ticket_types)
        ),
        salt=salt,
        shard_counts=(request.shards,),
        max_per_order=request.max_per_order,
        max_per_buyer=request.max_per_buyer,
        hold_ttl_s=request.hold_ttl_s,
        accept_per_s=request.accept_per_s,
        when_short=request.when_short,
        fulfilment=request.fulfilment,
    )
    check_sale(sale)
    return sale


def prices_of(request: SaleRequest) -> tuple[PricedAt, ...]:
    """Return every price of the definition with its field."""
    return tuple(_price(request, at) for at in range(len(request.ticket_types)))


def _price(request: SaleRequest, at: int) -> PricedAt:
    kind = request.ticket_types[at]
    field = f"ticket_types.{at}.price"
    if (kind.price is None) == (kind.price_minor is None):
        raise Invalid("A ticket type has either `price` or `price_minor`.", field=field, code="price-once")
    try:
        if kind.price is not None:
            return PricedAt(money_from_decimal(kind.price, request.currency), field)
        return PricedAt(Money(kind.price_minor or 0, request.currency), f"{field}_minor")
    except Invalid as error:
        raise Invalid(error.message, field=error.field if error.field == "currency" else field) from None
