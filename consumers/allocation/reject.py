"""Ends queued orders without seats, one conditional write each."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from consumers.allocation.supersede import supersede
from consumers.tools import Tools
from shared.domain import transitions
from shared.domain.allocator import Rejection
from shared.domain.errors import Broken, Unavailable
from shared.domain.order import Status, WorkHint
from shared.domain.order_id import OrderKey
from shared.observability import about

_log = logging.getLogger(__name__)


def reject_orders(tools: Tools, event_id: str, rejections: Sequence[Rejection]) -> list[OrderKey]:
    """Reject these orders; return those that are out of the line now, by this or by another writer."""

    def one(rejection: Rejection) -> OrderKey | Unavailable:
        try:
            _reject(tools, rejection)
        except Unavailable as error:
            return error
        return rejection.hint.key

    done: list[OrderKey] = []
    trouble: Unavailable | None = None
    for result in tools.fan_out_writes(one, rejections):
        if isinstance(result, Unavailable):
            trouble = result
        else:
            done.append(result)
    tools.observe(event_id, "rejected", len(done))
    if trouble is not None and not done:
        raise trouble
    return done


def park_unknown(tools: Tools, hint: WorkHint) -> None:
    """Set an order aside that wants seats of a pool which the sale does not have."""
    order = tools.store.get_order(hint.key)
    if order is None or order.status is not Status.QUEUED or order.parked is not None:
        return
    parked = transitions.park(
        order,
        op=tools.ids.op_id(),
        now_ms=tools.clock.now_ms(),
        error="The order wants seats of a pool that the sale does not have.",
    )
    tools.store.save(parked, seen_rev=order.rev)
    tools.observe(hint.key.event_id, "parked", 1)


def _reject(tools: Tools, rejection: Rejection) -> None:
    key = rejection.hint.key
    try:
        order = tools.store.get_order(key)
    except Broken:
        tools.observe(key.event_id, "order_unreadable", 1)
        _log.exception("an order cannot be read", extra={"event_id": key.event_id, "order_id": key.order_id})
        return
    if order is None or order.status is not Status.QUEUED or order.parked is not None:
        return
    rejected = transitions.reject(order, op=tools.ids.op_id(), now_ms=tools.clock.now_ms(), reason=rejection.reason)
    saved = tools.store.save(rejected, seen_rev=order.rev)
    if saved.done:
        _log.info("order rejected", extra=about(key, order.correlation_id, "reject", reason=str(rejection.reason)))
    if saved.superseded_by is not None:
        supersede(tools, key, saved.superseded_by)
