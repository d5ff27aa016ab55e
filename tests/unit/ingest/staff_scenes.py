"""Orders in the states that staff look at, put into the store as workers would leave them."""

from __future__ import annotations

from shared.domain import transitions
from shared.domain.order import Order
from shared.ports.store import Store
from tests.builders import make_order


def park(store: Store, number: int, *, error: str = "It broke.", at_ms: int = 5_000) -> Order:
    """Store a queued order and set it aside."""
    order = make_order(number)
    store.accept(order)
    parked = transitions.park(order, op="park", now_ms=at_ms, error=error)
    assert store.save(parked, seen_rev=order.rev).done
    return parked


def confirm(store: Store, number: int, *, at_ms: int = 6_000) -> Order:
    """Store a confirmed order that waits for fulfilment."""
    order = make_order(number, holder="Jørgen")
    store.accept(order)
    held = transitions.hold(order, op="hold", now_ms=at_ms, hold_ends_at_ms=at_ms + 60_000, slices={"floor": 0})
    ready = transitions.confirm(held, held.payment, op="c", now_ms=at_ms, tickets=("CODE",), fulfilment=True)
    store.save(held, seen_rev=order.rev)
    assert store.save(ready, seen_rev=held.rev).done
    return ready


def read(store: Store, order: Order) -> Order:
    """Read an order that must be there."""
    found = store.get_order(order.key)
    assert found is not None
    return found
