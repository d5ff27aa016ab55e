"""The sale of one event: its times, ticket types, capacity pools and limits."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shared.domain.discreet import Discreet
from shared.domain.errors import Conflicting, Invalid, NotFound
from shared.domain.money import Money, currency_exponent
from shared.domain.order_id import MAX_MAP_VERSION
from shared.domain.times import format_time_ms

MAX_SHARDS = 1024
MAX_SLICES = 64
# A slice below this many seats would send every larger party to the pool.
MIN_SEATS_PER_SLICE = 500
MAX_CAPACITY = 10_000_000
MAX_POOLS = 20
MAX_TICKET_TYPES = 50
MAX_ORDER_QUANTITY = 50
MAX_NAME = 200
MAX_HOLD_S = 86_400
SALT_BYTES = 16
_NAME = re.compile(r"\A[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?\Z")


class SaleStatus(StrEnum):
    """What staff have decided; whether it is open now also depends on the time."""

    ACTIVE = "active"
    PAUSED = "paused"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class WhenShort(StrEnum):
    """What becomes of an order that finds no seats while some are still held by others."""

    WAIT = "wait"
    REJECT = "reject"


class Pool(Struct, frozen=True):
    """A capacity pool, the unit of inventory: `capacity` seats, kept in `slices` counters."""

    pool_id: str
    capacity: int
    slices: int = 1


class TicketType(Struct, frozen=True):
    """What a buyer chooses: a name and a price, drawing its seats from one pool."""

    ticket_type_id: str
    name: str
    pool_id: str
    price_minor: int


class Sale(Discreet, frozen=True):
    """One event on sale. Opening is inclusive, closing exclusive.

    `shard_counts` has one entry per version of the shard map, the newest last. `salt` keys the order ids and is never
    shown. `accept_per_s` is the whole system's budget of accepted orders per second.
    """

    hidden: ClassVar = frozenset({"salt"})

    event_id: str
    name: str
    currency: str
    opens_at_ms: int
    closes_at_ms: int
    pools: tuple[Pool, ...]
    ticket_types: tuple[TicketType, ...]
    salt: bytes
    shard_counts: tuple[int, ...] = (16,)
    max_per_order: int = 10
    max_per_buyer: int | None = None
    hold_ttl_s: int = 600
    accept_per_s: int = 100_000
    when_short: WhenShort = WhenShort.WAIT
    fulfilment: bool = False
    status: SaleStatus = SaleStatus.ACTIVE
    allocation_paused: bool = False
    version: int = 1

    @property
    def shards(self) -> int:
        """The present shard count."""
        return self.shard_counts[-1]

    @property
    def map_version(self) -> int:
        """The present version of the shard map, counted from 1."""
        return len(self.shard_counts)

    @property
    def groups(self) -> int:
        """How many allocation groups the shards form: as many as the most sliced pool has slices."""
        return max(pool.slices for pool in self.pools)

    def pool(self, pool_id: str) -> Pool:
        """Return the pool; NotFound if the sale has none of that id."""
        for pool in self.pools:
            if pool.pool_id == pool_id:
                return pool
        raise NotFound(f"The sale has no pool {pool_id!r}.")

    def ticket_type(self, ticket_type_id: str) -> TicketType | None:
        """Return the ticket type, or None."""
        return next((kind for kind in self.ticket_types if kind.ticket_type_id == ticket_type_id), None)

    def price(self, kind: TicketType) -> Money:
        """Return the price of one ticket."""
        return Money(kind.price_minor, self.currency)

    def refuse_unless_accepting(self, now_ms: int) -> None:
        """Raise Conflicting with the reason why no order is taken now; return when orders are taken."""
        if self.status is SaleStatus.CANCELLED:
            raise Conflicting("The event was cancelled.", code="cancelled")
        if self.status is SaleStatus.CLOSED or now_ms >= self.closes_at_ms:
            raise Conflicting("The sale has closed.", code="closed", closed_at=format_time_ms(self.closes_at_ms))
        if now_ms < self.opens_at_ms:
            opening = format_time_ms(self.opens_at_ms)
            raise Conflicting(f"The sale opens at {opening}.", code="not-on-sale-yet", opens_at=opening)
        if self.status is SaleStatus.PAUSED:
            raise Conflicting("The sale is paused; it will go on shortly.", code="paused")

    def ended(self, now_ms: int) -> bool:
        """Say whether no further order can come, so that the line may be brought to its end."""
        return self.status in {SaleStatus.CLOSED, SaleStatus.CANCELLED} or now_ms >= self.closes_at_ms

    def resharded(self, shards: int) -> Sale:
        """Return the next version with a grown shard map; the same one when it has as many shards already.

        Conflicting when the map cannot grow (so): orders of every version stay where they are, so fewer shards would
        save nothing.
        """
        if shards == self.shards:
            return self
        if self.status in {SaleStatus.CLOSED, SaleStatus.CANCELLED}:
            raise Conflicting(f"The sale is {self.status}; no more orders come.", code=str(self.status))
        if shards < self.shards:
            raise Conflicting(
                f"The sale has {self.shards} shards, and they only become more: orders stay where they are.",
                code="shards-only-grow",
                shards=self.shards,
            )
        if self.map_version == MAX_MAP_VERSION:
            raise Conflicting(
                f"The shard map has grown {MAX_MAP_VERSION - 1} times, and repeated requests still have to find orders "
                "of every earlier map; it cannot grow again.",
                code="shard-map-full",
            )
        return replace(self, shard_counts=(*self.shard_counts, shards), version=self.version + 1)

    def with_capacity(self, pool_id: str, capacity: int) -> Sale:
        """Return the next version with as many seats in a pool; the same one when it has them. NotFound without it."""
        if self.pool(pool_id).capacity == capacity:
            return self
        pools = tuple(replace(pool, capacity=capacity) if pool.pool_id == pool_id else pool for pool in self.pools)
        return replace(self, pools=pools, version=self.version + 1)

    def changed(self, status: SaleStatus, *, allocation_paused: bool = False) -> Sale:
        """Return the next version with another status; Conflicting when it has ended for good."""
        ends = status is self.status or (self.status is SaleStatus.CLOSED and status is SaleStatus.CANCELLED)
        if self.status in {SaleStatus.CLOSED, SaleStatus.CANCELLED} and not ends:
            raise Conflicting(f"The sale is {self.status} and stays so.", code=str(self.status))
        return replace(self, status=status, allocation_paused=allocation_paused, version=self.version + 1)


def slice_of(pool: Pool, group: int) -> int:
    """Return the slice of `pool` that an allocation group draws on."""
    return group % pool.slices


def group_of(sale: Sale, shard: int) -> int:
    """Return the allocation group that a shard feeds."""
    return shard % sale.groups


def check_sale(sale: Sale) -> None:
    """Raise Invalid, naming the field, when the definition breaks a rule of its own."""
    _check_name(sale.event_id, "event_id")
    currency_exponent(sale.currency)
    _check(bool(sale.name.strip()) and len(sale.name) <= MAX_NAME, "name", f"A name has 1 to {MAX_NAME} characters.")
    _check(sale.opens_at_ms < sale.closes_at_ms, "closes_at", "The sale must close after it opens.")
    _check(1 <= len(sale.pools) <= MAX_POOLS, "pools", f"A sale has 1 to {MAX_POOLS} pools.")
    _check(
        1 <= len(sale.ticket_types) <= MAX_TICKET_TYPES, "ticket_types", f"A sale has 1 to {MAX_TICKET_TYPES} types."
    )
    _check(
        1 <= len(sale.shard_counts) <= MAX_MAP_VERSION and all(1 <= n <= MAX_SHARDS for n in sale.shard_counts),
        "shards",
        f"A sale has 1 to {MAX_SHARDS} shards.",
    )
    _check(
        1 <= sale.max_per_order <= MAX_ORDER_QUANTITY,
        "max_per_order",
        f"An order has 1 to {MAX_ORDER_QUANTITY} tickets at most.",
    )
    _check(sale.max_per_buyer is None or sale.max_per_buyer >= 1, "max_per_buyer", "A limit is at least 1.")
    _check(1 <= sale.hold_ttl_s <= MAX_HOLD_S, "hold_ttl_s", "A hold lasts 1 second to 1 day.")
    _check(sale.accept_per_s >= 1, "accept_per_s", "The budget is at least 1 order per second.")
    _check(len(sale.salt) == SALT_BYTES, "salt", f"The salt has {SALT_BYTES} bytes.")
    _check_pools(sale)
    _check_ticket_types(sale)


def _check_pools(sale: Sale) -> None:
    seen: set[str] = set()
    for at, pool in enumerate(sale.pools):
        name = f"pools.{at}"
        _check_name(pool.pool_id, f"{name}.pool_id")
        _check(pool.pool_id not in seen, f"{name}.pool_id", f"The pool {pool.pool_id!r} stands twice.")
        seen.add(pool.pool_id)
        _check(1 <= pool.capacity <= MAX_CAPACITY, f"{name}.capacity", f"A pool has 1 to {MAX_CAPACITY} seats.")
        most = min(MAX_SLICES, max(1, pool.capacity // MIN_SEATS_PER_SLICE))
        _check(
            1 <= pool.slices <= most,
            f"{name}.slices",
            f"{pool.capacity} seats allow 1 to {most} slices, not {pool.slices}.",
        )


def _check_ticket_types(sale: Sale) -> None:
    pools = {pool.pool_id for pool in sale.pools}
    seen: set[str] = set()
    for at, kind in enumerate(sale.ticket_types):
        name = f"ticket_types.{at}"
        _check_name(kind.ticket_type_id, f"{name}.ticket_type_id")
        _check(
            kind.ticket_type_id not in seen,
            f"{name}.ticket_type_id",
            f"The ticket type {kind.ticket_type_id!r} stands twice.",
        )
        seen.add(kind.ticket_type_id)
        _check(kind.pool_id in pools, f"{name}.pool_id", f"The sale has no pool {kind.pool_id!r}.")
        _check(
            bool(kind.name.strip()) and len(kind.name) <= MAX_NAME,
            f"{name}.name",
            f"A name has 1 to {MAX_NAME} characters.",
        )
        sale.price(kind).times(MAX_ORDER_QUANTITY)


def is_name(text: str) -> bool:
    """Say whether this can be the id of an event, pool or ticket type."""
    return _NAME.match(text) is not None


def _check_name(text: str, where: str) -> None:
    _check(
        is_name(text),
        where,
        "An id has 1 to 64 lower-case letters, digits, `.`, `-` or `_`, and begins and ends with a letter or digit.",
    )


def _check(holds: bool, where: str, sentence: str) -> None:  # noqa: FBT001
    if not holds:
        raise Invalid(sentence, field=where)
