"""Small steps that the tests of this folder take with a store."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.order import Lane, Order, Reason, Status, WorkHint, hint_of
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool, Sale
from shared.ports.inventory import HoldBatch
from shared.ports.store import Store
from tests.builders import make_order, make_sale

FOREVER_MS = 9_000_000_000_000


def sale_of(capacity: int, *, slices: int = 1, event_id: str = "gig") -> Sale:
    """Make a sale of one pool `floor`."""
    return make_sale(event_id=event_id, pools=(Pool("floor", capacity, slices),))


def order_on(shard: int, order_id: str, *, event_id: str = "gig", at_ms: int = 2_000) -> Order:
    """Make a queued order at an address of the test's choice."""
    return replace(make_order(), key=OrderKey(event_id, shard, order_id), accepted_at_ms=at_ms)


def queue(store: Store, count: int, *, quantity: int = 1) -> list[Order]:
    """Accept orders 0 … count-1, each of a buyer of its own."""
    orders = [make_order(number, buyer=f"buyer-{number}", quantity=quantity) for number in range(count)]
    for order in orders:
        store.accept(order)
    return orders


def hint(order: Order) -> WorkHint:
    """Return the line entry of a queued order."""
    found = hint_of(order)
    assert found is not None
    return found


def batch_of(
    orders: Sequence[Order], *, op: str = "hold-1", slice_no: int = 0, max_per_buyer: int | None = None
) -> HoldBatch:
    """Write the allocating transaction of `orders`, all from one slice of each pool."""
    pools = {want.pool_id for order in orders for want in order.demand}
    return HoldBatch(
        event_id=orders[0].key.event_id if orders else "gig",
        op=op,
        now_ms=20_000,
        hold_ends_at_ms=80_000,
        orders=tuple(hint(order) for order in orders),
        slices=dict.fromkeys(pools, slice_no),
        max_per_buyer=max_per_buyer,
    )


def stored(store: Store, order: Order) -> Order:
    """Read an order that must be there."""
    found = store.get_order(order.key)
    assert found is not None
    return found


def expired(order: Order, *, op: str = "expire-1") -> Order:
    """End a hold as not paid in time."""
    return transitions.release(
        order, order.payment, op=op, now_ms=90_000, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
    )


def all_due(
    store: Store, shard: int, lane: Lane, *, event_id: str = "gig", until_ms: int = FOREVER_MS, page: int = 100
) -> list[WorkHint]:
    """Follow the pages of a lane to the end."""
    hints: list[WorkHint] = []
    cursor: str | None = None
    while True:
        found = store.due(event_id, shard, lane, until_ms=until_ms, limit=page, cursor=cursor)
        assert len(found.hints) <= page
        hints += found.hints
        cursor = found.cursor
        if cursor is None:
            return hints


def all_orders(store: Store, shard: int, *, event_id: str = "gig", page: int = 100) -> list[Order]:
    """Follow the pages of a shard to the end."""
    orders: list[Order] = []
    cursor: str | None = None
    while True:
        found = store.list_orders(event_id, shard, limit=page, cursor=cursor)
        assert len(found.orders) <= page
        orders += found.orders
        cursor = found.cursor
        if cursor is None:
            return orders
