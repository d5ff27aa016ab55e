"""Programs outside take orders, by receipt: confirmed ones to be fulfilled, and parked ones.

Taking is a conditional write on each order, so two programs that take at the same moment never get the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ingest.audit_trail import Actor, audit
from ingest.change_sale import standing_sale
from ingest.parked_orders import shards_of
from ingest.parts import Parts
from shared.domain import handing_out
from shared.domain.errors import Broken, Contended, NotFound
from shared.domain.order import Lane, Order
from shared.domain.order_id import OrderKey, locate_order
from shared.domain.taken import Receipt, Stage, read_receipt

LANES = {Stage.FULFILMENT: Lane.FULFIL, Stage.PARKED: Lane.PARKED}
# Shards that one pull looks at; the next one begins elsewhere.
MAX_LOOKS = 256
# Each further try means that somebody else wrote the order between our read and our write.
MAX_TRIES = 5


class Handed(Struct, frozen=True):
    """An order in somebody's hands, hidden from others until `until_ms`."""

    order: Order
    receipt: str
    until_ms: int


class Pull(Struct, frozen=True):
    """What is asked for: up to `most` orders of one event or of all, for so long."""

    stage: Stage
    most: int
    visibility_s: int
    event_id: str | None


def pull(parts: Parts, actor: Actor, wanted: Pull) -> list[Handed]:
    """Take orders that wait in a stage; fewer than asked for when no more were found at a bounded number of looks."""
    handed: list[Handed] = []
    for event_id, shard in _places(parts, wanted):
        if len(handed) >= wanted.most:
            break
        now_ms = parts.clock.now_ms()
        hints = parts.store.due(
            event_id, shard, LANES[wanted.stage], until_ms=now_ms, limit=wanted.most - len(handed)
        ).hints
        taken = (_take(parts, hint.key, wanted) for hint in hints)
        handed += [one for one in taken if one is not None]
    for event_id in sorted({one.order.key.event_id for one in handed}):
        ids = [one.order.key.order_id for one in handed if one.order.key.event_id == event_id]
        _audit(parts, actor, f"pull_{wanted.stage}", event_id, f"{len(ids)} waiting", f"taken: {' '.join(ids)}")
    return handed


def extend(parts: Parts, actor: Actor, stage: Stage, receipt: str, *, visibility_s: int) -> Handed:
    """Keep an order for another while, counted from now."""

    def step(order: Order, shown: Receipt, op: str, now_ms: int) -> Order:
        return handing_out.extend(order, stage, shown.op, op=op, now_ms=now_ms, until_ms=now_ms + 1000 * visibility_s)

    order = _change(parts, actor, f"extend_{stage}", receipt, step)
    parked = order.parked.taken if order.parked is not None else None
    taken = order.taken if stage is Stage.FULFILMENT else parked
    return Handed(order, receipt, order.updated_at_ms if taken is None else taken.until_ms)


def complete(parts: Parts, actor: Actor, stage: Stage, receipt: str) -> Order:
    """End the stage for this order, once: it is fulfilled, or a parked one is taken up again."""

    def step(order: Order, shown: Receipt, op: str, now_ms: int) -> Order:
        return handing_out.complete(order, stage, shown.op, op=op, now_ms=now_ms)

    return _change(parts, actor, f"complete_{stage}", receipt, step)


def give_back(parts: Parts, actor: Actor, stage: Stage, receipt: str) -> Order:
    """Let others have the order at once."""

    def step(order: Order, shown: Receipt, op: str, now_ms: int) -> Order:
        return handing_out.give_back(order, stage, shown.op, op=op, now_ms=now_ms)

    return _change(parts, actor, f"give_back_{stage}", receipt, step)


def _places(parts: Parts, wanted: Pull) -> Iterator[tuple[str, int]]:
    """Return shards to look at, from a random one on, so that no shard is always the last."""
    if wanted.event_id is not None:
        sales = [standing_sale(parts, wanted.event_id).sale]
    else:
        sales = [view.sale for view in parts.store.list_sales()]
    if wanted.stage is Stage.FULFILMENT:
        sales = [sale for sale in sales if sale.fulfilment]
    places = [(sale.event_id, shard) for sale in sales for shard in shards_of(sale)]
    first = int(parts.ids.fraction() * len(places))
    yield from (places[first:] + places[:first])[:MAX_LOOKS]


def _take(parts: Parts, key: OrderKey, wanted: Pull) -> Handed | None:
    try:
        order = parts.store.get_order(key)
    except (Broken, NotFound):
        # What cannot be read is a matter for whoever is told of it; it stops no other order.
        return None
    now_ms = parts.clock.now_ms()
    if order is None or not handing_out.can_be_taken(order, wanted.stage, now_ms):
        return None
    op = parts.ids.op_id()
    until_ms = now_ms + 1000 * wanted.visibility_s
    taken = handing_out.take(order, wanted.stage, op=op, now_ms=now_ms, until_ms=until_ms)
    if not parts.store.save(taken, seen_rev=order.rev).done:
        return None
    return Handed(taken, str(Receipt(key.event_id, key.order_id, op)), until_ms)


def _change(
    parts: Parts, actor: Actor, action: str, receipt: str, step: Callable[[Order, Receipt, str, int], Order]
) -> Order:
    """Write a step on condition that nobody wrote in between; a repeat that changes nothing is audited all the same."""
    shown = read_receipt(receipt)
    sale = standing_sale(parts, shown.event_id).sale
    order = parts.store.get_order(locate_order(shown.event_id, shown.order_id, sale.shard_counts))
    for _ in range(MAX_TRIES):
        if order is None:
            raise NotFound("The order of this receipt is not stored here.")
        after = step(order, shown, parts.ids.op_id(), parts.clock.now_ms())
        saved = None if after is order else parts.store.save(after, seen_rev=order.rev)
        if saved is None or saved.done:
            subject = f"{shown.event_id}/{shown.order_id}"
            _audit(
                parts, actor, action, subject, f"rev {order.rev}: {_hand(order)}", f"rev {after.rev}: {_hand(after)}"
            )
            return after
        order = saved.order
    raise Contended


def _hand(order: Order) -> str:
    work = order.work
    return "nothing to do" if work is None else f"{work[0]} at {work[1]}"


def _audit(parts: Parts, actor: Actor, action: str, subject: str, before: str, after: str) -> None:
    audit(parts, actor, action, subject=subject, before=before, after=after)
