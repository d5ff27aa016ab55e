"""A buyer's own orders over all events: a copy for reading, written from the stream of changes, seconds late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from shared.domain.money import Money
from shared.domain.order import Status

# Orders written by one call at most.
MAX_PUT = 1_000
MAX_PAGE = 100


class BuyerOrder(Struct, frozen=True):
    """One order as its buyer's list shows it, as of the order's `rev`; never how to pay, nor the tickets."""

    buyer_id: str
    event_id: str
    order_id: str
    status: Status
    reason: str | None
    quantity: int
    amount: Money
    refunded_minor: int
    accepted_at_ms: int
    updated_at_ms: int
    rev: int


class BuyerOrderPage(Struct, frozen=True):
    """Some of a buyer's orders, newest first; `cursor` is None at the end."""

    orders: tuple[BuyerOrder, ...]
    cursor: str | None


class BuyerOrdersStore(Protocol):
    """The copies, by buyer. Nothing that takes or settles an order reads or waits for them."""

    def put(self, orders: Sequence[BuyerOrder]) -> None:
        """Store orders, each unless the same or a later `rev` of it stands: any order of calls ends alike.

        At most `MAX_PUT`, none twice. Unavailable when some may not be stored; repeating the call is safe.
        """
        ...

    def list_orders(self, buyer_id: str, *, limit: int, cursor: str | None = None) -> BuyerOrderPage:
        """Read on in a buyer's orders, newest first; Invalid for a cursor that is none of ours."""
        ...

    def note_progress(self, stream_shard: str, newest_ms: int) -> None:
        """Remember the time of the newest change taken in from a stream shard; an earlier one changes nothing."""
        ...

    def progress_ms(self) -> int | None:
        """Return the time of the newest change taken in from any stream shard, or None before the first."""
        ...

    def close(self) -> None:
        """Give back connections and files; further calls raise Unavailable."""
        ...
