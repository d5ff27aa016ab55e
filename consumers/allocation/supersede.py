"""Ends a queued order for whose idempotency key another one stands, written under another version of the shard map."""

from __future__ import annotations

from consumers.tools import Tools
from shared.domain import transitions
from shared.domain.order import Status
from shared.domain.order_id import OrderKey


def supersede(tools: Tools, key: OrderKey, order_id: str) -> None:
    """Let the order at `key` point to the one that counts; whoever wrote it meanwhile was faster."""
    order = tools.store.get_order(key)
    if order is None or order.status is not Status.QUEUED:
        return
    op, now_ms = tools.ids.op_id(), tools.clock.now_ms()
    superseded = transitions.supersede(order, op=op, now_ms=now_ms, order_id=order_id)
    if tools.store.save(superseded, seen_rev=order.rev).done:
        tools.observe(key.event_id, "superseded", 1)
