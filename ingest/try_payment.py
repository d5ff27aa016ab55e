"""A buyer whose card was declined names another one while the seats are held."""

from __future__ import annotations

import hashlib

from ingest.errors import KeyReused
from ingest.idempotency_key import HEADER
from ingest.parts import Parts
from ingest.read_order import find_order
from shared.domain.errors import Conflicting, Contended, NotFound
from shared.domain.order import Order, PaymentState, Status
from shared.domain.sale import Sale, SaleStatus
from shared.domain.transitions import try_again
from shared.ports.control import SaleView

# Each further round means that a worker changed the order between our read and our write.
MAX_ROUNDS = 5
# Of each part of a try's name, in bytes: one order has at most four of them.
_KEY_BYTES, _METHOD_BYTES = 8, 4


def try_payment(
    parts: Parts, event_id: str, order_id: str, buyer_id: str, *, method: str, idempotency_key: str | None
) -> tuple[Order, SaleView]:
    """Write another try on the buyer's own order, or find it written; a worker carries it out.

    The same key again is the same try, whatever became of it; without a key, the same card while the try is open is.
    Raises NotFound for other people's orders, Conflicting with the reason why no try is possible now, KeyReused,
    Contended when workers were faster every time.
    """
    order, view = find_order(parts, event_id, order_id)
    name = None if idempotency_key is None else _name(idempotency_key, method)
    for _ in range(MAX_ROUNDS):
        if order.buyer_id != buyer_id:
            raise NotFound("No order has this id.")
        if _is_repeat(order, name, method):
            return order, view
        now_ms = parts.clock.now_ms()
        _refuse_if_over(order, view.sale, now_ms)
        wanted = try_again(order, op=parts.ids.op_id(), now_ms=now_ms, method=method, name=name)
        saved = parts.store.save(wanted, seen_rev=order.rev)
        if saved.order is None:
            raise NotFound("No order has this id.")
        order = saved.order
        if saved.done:
            return order, view
    raise Contended


def _is_repeat(order: Order, name: str | None, method: str) -> bool:
    payment = order.payment
    if name is None:
        open_try = order.status is Status.HELD and payment.state is PaymentState.OPEN and payment.attempt > 1
        return open_try and payment.method == method
    key = name[: 2 * _KEY_BYTES]
    earlier = next((known for known in payment.try_names if known.startswith(key)), None)
    if earlier is not None and earlier != name:
        raise KeyReused(field=HEADER)
    return earlier is not None


def _refuse_if_over(order: Order, sale: Sale, now_ms: int) -> None:
    if order.status is not Status.HELD:
        return
    if sale.status is SaleStatus.CANCELLED:
        raise Conflicting("The event was cancelled; nothing is charged any more.", code="cancelled")
    if order.held_at_ms is not None and now_ms >= order.held_at_ms + sale.hold_ttl_s * 1000:
        raise Conflicting("The time to pay is over; the seats are given back.", code="hold-ended")


def _name(key: str, method: str) -> str:
    """Name a try by its key and its card, short enough to be kept on the order."""
    parts = ((key, _KEY_BYTES), (method, _METHOD_BYTES))
    return "".join(hashlib.blake2b(text.encode("ascii"), digest_size=size).hexdigest() for text, size in parts)
