"""When to ask again: delays that grow with the time an order has been held, and never run in step."""

from __future__ import annotations

from consumers.pace import full_jitter, jittered
from shared.domain.order import Duty, Order
from shared.ports.system import Ids

# Webhooks may never arrive: the payment service is asked this soon, and ever more rarely up to the last figure.
FIRST_CHECK_S = 4.0
LAST_CHECK_S = 120.0
# While the payment service does not answer.
FIRST_PUT_OFF_S = 1.0
LAST_PUT_OFF_S = 60.0
# After a failure of the order itself.
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 300.0


def check_later(order: Order, ids: Ids, now_ms: int) -> int:
    """Return when to look at the intent again."""
    return _later(order, ids, now_ms, FIRST_CHECK_S, LAST_CHECK_S)


def put_off_until(order: Order, ids: Ids, now_ms: int) -> int:
    """Return when to try a silent payment service again."""
    return _later(order, ids, now_ms, FIRST_PUT_OFF_S, LAST_PUT_OFF_S)


def retry_at(order: Order, ids: Ids, now_ms: int) -> int:
    """Return when a failing order is tried again: exponential, with full jitter."""
    return now_ms + round(1000 * full_jitter(ids, FIRST_RETRY_S, order.failures, LAST_RETRY_S))


def due_duties(order: Order, now_ms: int) -> frozenset[Duty]:
    """Return the duties whose time has come."""
    return frozenset(duty for duty, at_ms in order.duties.items() if at_ms <= now_ms)


def without(order: Order, *duties: Duty) -> dict[Duty, int]:
    """Return the order's duties less these."""
    return {duty: at_ms for duty, at_ms in order.duties.items() if duty not in duties}


def shifted(order: Order, now_ms: int, at_ms: int) -> dict[Duty, int]:
    """Put every due duty off to `at_ms`; what waits for somebody outside stays.

    Nothing is tried before an ending that is put off: a hold that is over is not charged any more.
    """
    ending = due_duties(order, now_ms) & {Duty.HOLD_END, Duty.CLOSE}
    latest_ms = at_ms if ending else now_ms
    return {
        duty: due_ms if duty is Duty.FULFIL or due_ms > latest_ms else at_ms for duty, due_ms in order.duties.items()
    }


def _later(order: Order, ids: Ids, now_ms: int, first_s: float, last_s: float) -> int:
    """Wait a quarter of the time gone since the hold, within bounds: growth that needs no counter."""
    gone_s = (now_ms - (order.held_at_ms or order.accepted_at_ms)) / 1000
    return now_ms + round(1000 * jittered(ids, min(last_s, max(first_s, gone_s / 4))))
