"""An order as a stored item: one flat dictionary that both stores keep, and the stream shows.

Values are strings, whole numbers, lists and dictionaries only; what is absent is left out, so that a usual order stays
below 1 KiB, the size that one write unit pays for.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shared.domain.errors import Broken, Moved
from shared.domain.journey import Step
from shared.domain.money import Money
from shared.domain.order import (
    Demand,
    Duty,
    Line,
    Order,
    Parked,
    Payment,
    PaymentState,
    Reason,
    Seats,
    Status,
    work_key,
)
from shared.domain.order_id import OrderKey, parse_order_id
from shared.domain.taken import Taken
from shared.domain.trouble import Trouble, TroubleKind

Item = dict[str, Any]

_MOVED_TO = "moved_to"


def order_item(order: Order) -> Item:
    """Write an order as an item; `pk` and `sk` are the table's key, `work` the index's sort key where there is work."""
    work = order.work
    item: Item = {
        "pk": order.key.partition,
        "sk": order.key.order_id,
        "buyer": order.buyer_id,
        "lines": [[line.ticket_type_id, line.quantity, line.price_minor] for line in order.lines],
        "demand": demand_value(order.demand),
        "amount": order.amount.minor,
        "currency": order.amount.currency,
        "accepted_at": order.accepted_at_ms,
        "fingerprint": order.fingerprint,
        "holder": order.holder,
        "trace": order.correlation_id or None,
        "status": str(order.status),
        "reason": order.reason and str(order.reason),
        "rev": order.rev,
        "op": order.op or None,
        "updated_at": order.updated_at_ms or None,
        "held_at": order.held_at_ms,
        "seats": [[part.pool_id, part.slice_no, part.quantity] for part in order.seats] or None,
        # Beside `pay`, not in it: holding sets it without knowing whether there is a `pay` yet.
        "attempt": order.payment.attempt or None,
        "pay": payment_value(order.payment) or None,
        "duties": duties_value(order),
        "tickets": list(order.tickets) or None,
        "failures": order.failures or None,
        "parked": order.parked and _parked_value(order.parked),
        "history": [[entry.at_ms, str(entry.kind), entry.duty, entry.note] for entry in order.history] or None,
        "steps": [step_value(step) for step in order.steps] or None,
        "taken": order.taken and _taken_value(order.taken),
        "superseded_by": order.superseded_by,
        "older": _homes_value(order) or None,
        "work": work and work_key(work[0], work[1], order.key.order_id),
    }
    return {name: value for name, value in item.items() if value is not None}


def read_order(item: Item) -> Order:
    """Read an item back; Moved when it is a tombstone, Broken when it is neither."""
    if is_tombstone(item):
        raise Moved(item[_MOVED_TO])
    try:
        event_id, shard = item["pk"].rsplit("#", 1)
        return Order(
            key=OrderKey(event_id, int(shard), item["sk"]),
            buyer_id=item["buyer"],
            lines=tuple(Line(kind, int(n), int(price)) for kind, n, price in item["lines"]),
            demand=read_demand(item["demand"]),
            amount=Money(int(item["amount"]), item["currency"]),
            accepted_at_ms=int(item["accepted_at"]),
            fingerprint=item["fingerprint"],
            holder=item.get("holder"),
            correlation_id=item.get("trace", ""),
            status=Status(item["status"]),
            reason=Reason(item["reason"]) if "reason" in item else None,
            rev=int(item["rev"]),
            op=item.get("op", ""),
            updated_at_ms=int(item.get("updated_at", 0)),
            held_at_ms=int(item["held_at"]) if "held_at" in item else None,
            seats=tuple(Seats(pool, int(slice_no), int(n)) for pool, slice_no, n in item.get("seats", ())),
            payment=_read_payment(item.get("pay", {}), int(item.get("attempt", 0))),
            duties={Duty(duty): int(at) for duty, at in item.get("duties", {}).items()},
            tickets=tuple(item.get("tickets", ())),
            failures=int(item.get("failures", 0)),
            parked=_read_parked(item.get("parked")),
            history=tuple(
                Trouble(int(at_ms), TroubleKind(kind), duty, note)
                for at_ms, kind, duty, note in item.get("history", ())
            ),
            steps=tuple(_read_step(*step) for step in item.get("steps", ())),
            taken=_read_taken(item.get("taken")),
            superseded_by=item.get("superseded_by"),
            older_homes=read_homes(event_id, item),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Broken(f"The stored item {item.get('pk')!r} / {item.get('sk')!r} is not an order: {error!r}.") from error


def step_value(step: Step) -> list[Any]:
    """Write a step; one that happened once is its name and its time."""
    value: list[Any] = [str(step.what), step.at_ms]
    return value if step.last_ms is None else [*value, step.times, step.last_ms]


def _read_step(what: str, at_ms: int, times: int = 1, last_ms: int | None = None) -> Step:
    return Step(what, int(at_ms), int(times), last_ms if last_ms is None else int(last_ms))


def tombstone_item(home: OrderKey, order_id: str) -> Item:
    """Write what closes an address for good: no status and no work, only where to look instead."""
    return {"pk": home.partition, "sk": home.order_id, _MOVED_TO: order_id}


def is_tombstone(item: Item) -> bool:
    """Say whether the item closes an address."""
    return _MOVED_TO in item


def standing_for(item: Item) -> str:
    """Return the id of the order that an item found at an older home leads to."""
    moved_to: str | None = item.get(_MOVED_TO, item.get("superseded_by"))
    return moved_to or str(item["sk"])


def stored_form(order: Order) -> Order:
    """Return the order as it is read back: out of the line it has forgotten its older homes."""
    return order if order.status is Status.QUEUED else replace(order, older_homes=())


def _homes_value(order: Order) -> list[list[int]]:
    """Write older homes as [version, shard]; the rest of the address is the order's own."""
    if order.status is not Status.QUEUED:
        return []
    return [[parse_order_id(home.order_id)[0], home.shard] for home in order.older_homes]


def read_homes(event_id: str, item: Item) -> tuple[OrderKey, ...]:
    """Read older homes back, of an item or of its entry in the index."""
    digest = item["sk"].partition("-")[2]
    return tuple(OrderKey(event_id, int(shard), f"{version}-{digest}") for version, shard in item.get("older", ()))


def demand_value(demand: tuple[Demand, ...]) -> list[list[Any]]:
    """Write a demand as the index projects it."""
    return [[want.pool_id, want.quantity, want.round] for want in demand]


def read_demand(value: list[list[Any]]) -> tuple[Demand, ...]:
    """Read a projected demand back."""
    return tuple(Demand(pool_id, int(quantity), int(round_no)) for pool_id, quantity, round_no in value)


def duties_value(order: Order) -> dict[str, int] | None:
    """Write the open duties with their times."""
    return {str(duty): at for duty, at in order.duties.items()} or None


def payment_value(payment: Payment) -> Item:
    """Write the money side, without the attempt and what is still at its beginning."""
    value: Item = {
        "method": payment.method,
        "state": None if payment.state is PaymentState.NONE else str(payment.state),
        "intent": payment.intent_id,
        "secret": payment.client_secret,
        "decline": payment.decline_code,
        "captured": payment.captured_minor or None,
        "refund_due": payment.refund_due_minor or None,
        "refunded": payment.refunded_minor or None,
        "tries": list(payment.try_names) or None,
        "silent": payment.silent_since_ms,
    }
    return {name: part for name, part in value.items() if part is not None}


def _read_payment(value: Item, attempt: int) -> Payment:
    return Payment(
        method=value.get("method"),
        attempt=attempt,
        state=PaymentState(value.get("state", "none")),
        intent_id=value.get("intent"),
        client_secret=value.get("secret"),
        decline_code=value.get("decline"),
        captured_minor=int(value.get("captured", 0)),
        refund_due_minor=int(value.get("refund_due", 0)),
        refunded_minor=int(value.get("refunded", 0)),
        try_names=tuple(value.get("tries", ())),
        silent_since_ms=int(value["silent"]) if "silent" in value else None,
    )


def _parked_value(parked: Parked) -> list[Any]:
    value: list[Any] = [parked.at_ms, parked.error, parked.duty]
    return value if parked.taken is None else [*value, _taken_value(parked.taken)]


def _read_parked(value: list[Any] | None) -> Parked | None:
    if value is None:
        return None
    at_ms, error, duty, *taken = value
    return Parked(int(at_ms), error, duty, _read_taken(taken[0] if taken else None))


def _taken_value(taken: Taken) -> list[Any]:
    return [taken.op, taken.until_ms, int(taken.done)]


def _read_taken(value: list[Any] | None) -> Taken | None:
    return None if value is None else Taken(value[0], int(value[1]), bool(value[2]))
