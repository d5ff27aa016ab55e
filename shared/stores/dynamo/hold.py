"""The allocating transaction: what it asks for, and what its verdicts mean."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from shared.domain.journey import Step
from shared.domain.order import Duty, Lane, Status, WorkHint, work_key
from shared.ports.inventory import HoldOutcome
from shared.stores.dynamo import seats as s
from shared.stores.dynamo.expressions import update
from shared.stores.dynamo.orders import tombstone
from shared.stores.items import standing_for, step_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.domain.order_id import OrderKey
    from shared.ports.inventory import HoldBatch
    from shared.stores.dynamo.errors import Cancelled
    from shared.stores.dynamo.expressions import Body
    from shared.stores.dynamo.tables import Tables
    from shared.stores.wire import Item

# What `transitions.hold` does, without having read the order; a test holds the two together.
_HOLD = (
    "SET #status = :held, #held_at = :now, #updated_at = :now, #seats = :seats, #attempt = :one, #duties = :duties,"
    " #work = :work, #rev = #rev + :one, #op = :op, #steps = list_append(if_not_exists(#steps, :none), :step)"
    " REMOVE #parked, #older"
)


class Planned(Struct, frozen=True):
    """One action of the batch, and what its failure says: which order, pool or buyer stood in the way.

    `closes` is the order whose older home the action closes.
    """

    action: Body
    order: OrderKey | None = None
    closes: OrderKey | None = None
    pool_id: str | None = None
    buyer_id: str | None = None


def hold_actions(batch: HoldBatch, tables: Tables) -> list[Planned]:
    """Write a batch as actions: its orders, the tombstones of those that moved, its slices, then its buyers."""
    planned = [Planned(_hold(batch, hint, tables.orders), order=hint.key) for hint in batch.orders]
    planned += [
        Planned(tombstone(tables.orders, home, hint.key.order_id), closes=hint.key)
        for hint in batch.orders
        for home in hint.older_homes
    ]
    wanted: Counter[str] = Counter()
    for hint in batch.orders:
        for want in hint.demand:
            wanted[want.pool_id] += want.quantity
    planned += [
        Planned(
            s.take(tables.inventory, s.slice_key(batch.event_id, pool_id, batch.slices[pool_id]), seats),
            pool_id=pool_id,
        )
        for pool_id, seats in wanted.items()
    ]
    if batch.max_per_buyer is not None:
        planned += [_count(batch, hint, tables.inventory, batch.max_per_buyer) for hint in batch.orders]
    return planned


def hold_outcome(op: str, planned: Sequence[Planned], cancelled: Cancelled) -> HoldOutcome:
    """Read why a batch was not carried out, or that it was.

    An order that already carries this `op` proves that an earlier try of the same transaction succeeded: all of it,
    since it is all or nothing. That earlier try also is a reason why seats or a buyer's limit may not suffice now, so
    those count only when nothing hid the orders' own verdicts; and why an older home is closed, by the order itself.
    """
    failed = [(part, verdict) for part, verdict in zip(planned, cancelled.verdicts, strict=True) if verdict.failed]
    if any(part.order is not None and verdict.item and verdict.item.get("op") == op for part, verdict in failed):
        return HoldOutcome(held=True)
    superseded = {
        part.closes: standing_for(verdict.item)
        for part, verdict in failed
        if part.closes is not None and verdict.item is not None
    }
    superseded = {key: other for key, other in superseded.items() if other != key.order_id}
    cancelled.need(decided=bool(superseded) or any(part.order is not None for part, _ in failed))
    return HoldOutcome(
        held=False,
        gone=frozenset(part.order for part, _ in failed if part.order is not None),
        short=frozenset(part.pool_id for part, _ in failed if part.pool_id is not None),
        over_limit=frozenset(part.buyer_id for part, _ in failed if part.buyer_id is not None),
        superseded=superseded,
    )


def _hold(batch: HoldBatch, hint: WorkHint, table: str) -> Body:
    first = min(batch.now_ms, batch.hold_ends_at_ms)
    values: Item = {
        "queued": str(Status.QUEUED),
        "held": str(Status.HELD),
        "now": batch.now_ms,
        "one": 1,
        "seats": [[want.pool_id, batch.slices[want.pool_id], want.quantity] for want in hint.demand],
        "duties": {str(Duty.PAY): batch.now_ms, str(Duty.HOLD_END): batch.hold_ends_at_ms},
        "work": work_key(Lane.TIMER, first, hint.key.order_id),
        "op": batch.op,
        "none": [],
        "step": [step_value(Step(str(Status.HELD), batch.now_ms))],
    }
    key = {"pk": hint.key.partition, "sk": hint.key.order_id}
    return {"Update": update(table, key, _HOLD, "#status = :queued", values)}


def _count(batch: HoldBatch, hint: WorkHint, table: str, most: int) -> Planned:
    quantity = sum(want.quantity for want in hint.demand)
    action = s.count_up(table, s.buyer_key(batch.event_id, hint.buyer_id), quantity, most)
    return Planned(action, buyer_id=hint.buyer_id)
