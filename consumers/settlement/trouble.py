"""What becomes of an order that cannot be settled now: put off, tried again, or set aside for a person."""

from __future__ import annotations

from consumers.settlement.outcome import Outcome, Step
from consumers.settlement.waits import put_off_until, retry_at, shifted
from consumers.tools import Tools
from shared.domain import transitions
from shared.domain.errors import OnsaleError
from shared.domain.order import Order
from shared.domain.trouble import failing_since_ms

MAX_FAILURES = 8
# A hold that cannot be closed for so long is a matter for a person.
UNSETTLED_MS = 24 * 3_600_000
# A row of failures that has lasted so long is not waited out, however few they are.
MAX_FAILING_MS = 24 * 3_600_000


class Unsettled(OnsaleError):
    """The payment has been under way for more than a day and cannot be closed; ask the payment service about it."""

    code = "unsettled"


class Unanswered(OnsaleError):
    """The payment service has not answered about this order for more than a day; redrive it once it does."""

    code = "unanswered"


def put_off(tools: Tools, order: Order) -> Step:
    """Put what is due off while the payment service is silent; that is no failure of the order.

    Silence about one order for more than a day is a matter for a person all the same: what is asked may be at fault.
    """
    now_ms = tools.clock.now_ms()
    since_ms = order.payment.silent_since_ms
    if since_ms is not None and now_ms - since_ms > UNSETTLED_MS:
        return park(tools, order, Unanswered())
    duties = shifted(order, now_ms, put_off_until(order, tools.ids, now_ms))
    waiting = transitions.wait_for_service(order, duties, op=tools.ids.op_id(), now_ms=now_ms)
    return Step(waiting, Outcome.PUT_OFF)


def fail(tools: Tools, order: Order, error: Exception) -> Step:
    """Count a failure of the order itself and try again later; after the last one, or a day, park it with its error."""
    now_ms = tools.clock.now_ms()
    since_ms = failing_since_ms(order.history, order.failures)
    too_old = since_ms is not None and now_ms - since_ms > MAX_FAILING_MS
    if order.failures + 1 >= MAX_FAILURES or too_old:
        return park(tools, order, error)
    duties = shifted(order, now_ms, retry_at(order, tools.ids, now_ms))
    failed = transitions.fail(order, duties, op=tools.ids.op_id(), now_ms=now_ms, error=_text(error))
    return Step(failed, Outcome.FAILED)


def park(tools: Tools, order: Order, error: Exception) -> Step:
    """Set the order aside for a person; it keeps its status, seats and money."""
    parked = transitions.park(order, op=tools.ids.op_id(), now_ms=tools.clock.now_ms(), error=_text(error))
    return Step(parked, Outcome.PARKED)


def waited_too_long(order: Order, now_ms: int) -> bool:
    """Say whether the hold is older than anything that a payment service takes."""
    return now_ms - (order.held_at_ms or order.accepted_at_ms) > UNSETTLED_MS


def _text(error: Exception) -> str:
    return error.message if isinstance(error, OnsaleError) else f"{type(error).__name__}: {error}"
