"""The way an order has come: one short entry for each write that moved it, carried by that very write.

What went wrong stands in the order's history with its error, and is not repeated here. Entries of one kind in a row
are one entry that counts, so that an order that is looked at for days stays small.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from shared.domain.order import Duty, Order, Status

# The first entries and the newest are kept; together they stay below 600 bytes.
MAX_STEPS = 16
FIRST_STEPS = 4


class Way(StrEnum):
    """What a step was, where it is no new status of the order or of its payment."""

    PAID_BACK = "paid_back"
    REFUND_OWED = "refund_owed"
    TRIED_AGAIN = "tried_again"
    CANCEL_ASKED = "cancel_asked"
    SERVICE_SILENT = "service_silent"
    HANDED_OUT = "handed_out"
    FULFILLED = "fulfilled"
    NEWS = "news"
    LOOKED = "looked"


class Step(Struct, frozen=True):
    """One entry: what happened, when for the first time, how often in a row, and when for the last time."""

    what: str
    at_ms: int
    times: int = 1
    last_ms: int | None = None


def with_step(before: Order, after: Order) -> Order:
    """Return `after` with the step from `before` to it; what only adds to the history of trouble is no step."""
    what = _step(before, after)
    if what is None:
        return after
    now_ms, steps = after.updated_at_ms, before.steps
    if steps and steps[-1].what == what:
        last = steps[-1]
        again = Step(what, last.at_ms, last.times + 1, now_ms)
        return replace(after, steps=(*steps[:-1], again))
    added = (*steps, Step(what, now_ms))
    # A hold is written by a transaction that does not know the order's entries: it only adds one.
    if len(added) > MAX_STEPS and what != Status.HELD:
        added = (*added[:FIRST_STEPS], *added[FIRST_STEPS - MAX_STEPS :])
    return replace(after, steps=added)


def _step(before: Order, after: Order) -> str | None:
    if after.status is not before.status:
        return str(after.status)
    if after.history != before.history:
        return None
    return _money_step(before, after) or _wish(before, after) or _rest(before, after)


def _money_step(before: Order, after: Order) -> str | None:
    old, new = before.payment, after.payment
    if new.refunded_minor > old.refunded_minor:
        return Way.PAID_BACK
    if new.refund_due_minor > old.refund_due_minor:
        return Way.REFUND_OWED
    if new.attempt > old.attempt:
        return Way.TRIED_AGAIN
    if new.state is not old.state:
        return f"payment_{new.state}"
    return None


def _wish(before: Order, after: Order) -> str | None:
    """Say who else asked for something: the buyer, the payment service, a program outside."""
    now_ms = after.updated_at_ms
    if after.duties.get(Duty.CLOSE) == now_ms and Duty.CLOSE not in before.duties:
        return Way.CANCEL_ASKED
    if after.duties.get(Duty.CHECK) == now_ms:
        return Way.NEWS
    if after.taken != before.taken or (after.parked and after.parked.taken) != (before.parked and before.parked.taken):
        return Way.FULFILLED if after.taken is not None and after.taken.done else Way.HANDED_OUT
    return None


def _rest(before: Order, after: Order) -> str:
    silent = after.payment.silent_since_ms is not None and after.duties != before.duties
    return Way.SERVICE_SILENT if silent else Way.LOOKED
