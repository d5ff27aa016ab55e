"""Orders in the hands of programs outside: taken for a while, extended, completed, given back.

Each function takes an order and returns its next version, or the very same object when what is asked stands already,
so that a repeated request has one effect. Conflicting with `receipt-superseded` when somebody else has taken the order
since, or when it left the stage otherwise.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import Conflicting
from shared.domain.journey import with_step
from shared.domain.order import Duty, Order
from shared.domain.taken import Stage, Taken
from shared.domain.trouble import TroubleKind


def can_be_taken(order: Order, stage: Stage, now_ms: int) -> bool:
    """Say whether the order waits in this stage and nobody has it in hand."""
    if stage is Stage.PARKED:
        return order.parked is not None and (order.parked.taken is None or order.parked.taken.until_ms <= now_ms)
    work = order.work
    return order.parked is None and work is not None and order.duties.get(Duty.FULFIL, now_ms + 1) <= now_ms


def take(order: Order, stage: Stage, *, op: str, now_ms: int, until_ms: int) -> Order:
    """Hide the order until `until_ms`; `op` becomes its receipt. Conflicting when it cannot be taken."""
    if not can_be_taken(order, stage, now_ms):
        raise Conflicting("The order is not there to be taken.", code="not-waiting")
    return _hide(order, stage, Taken(op, until_ms), op=op, now_ms=now_ms)


def extend(order: Order, stage: Stage, receipt: str, *, op: str, now_ms: int, until_ms: int) -> Order:
    """Hide the order until another time, counted from now."""
    taken = _held_by(order, stage, receipt)
    if taken.done:
        raise _superseded()
    return _hide(order, stage, Taken(receipt, until_ms), op=op, now_ms=now_ms)


def give_back(order: Order, stage: Stage, receipt: str, *, op: str, now_ms: int) -> Order:
    """Let others take the order at once; the receipt stays known, so that a repeat changes nothing."""
    taken = _held_by(order, stage, receipt)
    if taken.done:
        raise _superseded()
    if taken.until_ms <= now_ms:
        return order
    return _hide(order, stage, Taken(receipt, now_ms), op=op, now_ms=now_ms)


def complete(order: Order, stage: Stage, receipt: str, *, op: str, now_ms: int) -> Order:
    """End the stage: the order is fulfilled, or a parked one is taken up again."""
    if stage is Stage.PARKED:
        if order.parked is None and any(
            entry.kind is TroubleKind.REDRIVEN and entry.note == _redriven_by(receipt) for entry in order.history
        ):
            return order
        _held_by(order, stage, receipt)
        return transitions.redrive(order, op=op, now_ms=now_ms, who=_redriven_by(receipt))
    taken = _held_by(order, stage, receipt)
    if taken.done:
        return order
    duties = {duty: at_ms for duty, at_ms in order.duties.items() if duty is not Duty.FULFIL}
    return _changed(order, op, now_ms, duties=duties, taken=Taken(receipt, now_ms, done=True))


def _held_by(order: Order, stage: Stage, receipt: str) -> Taken:
    parked = order.parked.taken if order.parked is not None else None
    taken = order.taken if stage is Stage.FULFILMENT else parked
    if taken is None or taken.op != receipt:
        raise _superseded()
    return taken


def _hide(order: Order, stage: Stage, taken: Taken, *, op: str, now_ms: int) -> Order:
    if stage is Stage.PARKED:
        return _changed(order, op, now_ms, parked=order.parked and replace(order.parked, taken=taken))
    return _changed(order, op, now_ms, duties={**order.duties, Duty.FULFIL: taken.until_ms}, taken=taken)


def _redriven_by(receipt: str) -> str:
    return f"receipt {receipt}"


def _superseded() -> Conflicting:
    return Conflicting(
        "This receipt no longer counts: the order was taken by somebody else, or is done.", code="receipt-superseded"
    )


def _changed(order: Order, op: str, now_ms: int, **changes: Any) -> Order:  # noqa: ANN401 - as `replace` takes them
    return with_step(order, replace(order, rev=order.rev + 1, op=op, updated_at_ms=now_ms, **changes))
