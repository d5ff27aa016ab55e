"""Orders at every stage of their money, as workers would have left them."""

from __future__ import annotations

from msgspec.structs import replace

from shared.domain.order import Duty, Order, PaymentState, Status, hint_of
from shared.domain.order_id import locate_order
from shared.domain.transitions import confirm, note_payment
from shared.ports.inventory import HoldBatch
from shared.ports.store import Store
from tests.unit.ingest.client import Client

HOLD_MS = 60_000


def stored(store: Store, order_id: str) -> Order:
    """Read an order of the gig."""
    order = store.get_order(locate_order("gig", order_id, (4,)))
    assert order is not None
    return order


def held(
    store: Store, buyer: Client, quantity: int = 1, *, method: str | None = "pm_card_visa", at_ms: int = 10_000
) -> Order:
    """Let a buyer order, and a worker hold the seats."""
    wish = {} if method is None else {"payment_method": method}
    order = stored(store, buyer.order(quantity, **wish).json["order_id"])
    hint = hint_of(order)
    assert hint is not None
    batch = HoldBatch("gig", f"hold-{order.key.order_id[-6:]}", at_ms, at_ms + HOLD_MS, (hint,), {"floor": 0}, None)
    assert store.hold_batch(batch).held
    return stored(store, order.key.order_id)


def seen(store: Store, order: Order, state: PaymentState, **changes: object) -> Order:
    """Let a worker note what the payment service said; nothing is due but the hold's end."""
    payment = replace(order.payment, state=state, intent_id=f"pi_{order.key.order_id}", **changes)  # type: ignore[arg-type] # as `replace`
    duties = {Duty.HOLD_END: order.duties[Duty.HOLD_END]}
    after = note_payment(order, payment, duties, op=f"seen-{order.rev}", now_ms=10_000)
    assert store.save(after, seen_rev=order.rev).done
    return after


def declined(store: Store, buyer: Client, quantity: int = 1) -> Order:
    """Let a worker hold and the card be declined."""
    return seen(store, held(store, buyer, quantity), PaymentState.DECLINED, decline_code="card_declined")


def confirmed(store: Store, buyer: Client, quantity: int = 1) -> Order:
    """Let a buyer have paid."""
    order = held(store, buyer, quantity)
    payment = replace(
        order.payment,
        state=PaymentState.PAID,
        intent_id=f"pi_{order.key.order_id}",
        captured_minor=order.amount.minor,
    )
    tickets = tuple(f"{order.key.order_id[-6:]}-{seat}" for seat in range(quantity))
    after = confirm(order, payment, op="paid", now_ms=10_000, tickets=tickets)
    assert store.save(after, seen_rev=order.rev).done
    assert after.status is Status.CONFIRMED
    return after
