"""The trace of an order as staff read it."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer
from ingest.trace import ahead_of, trace_of
from shared.domain.order import Order, Status
from shared.domain.times import format_time_ms


class TraceRowAnswer(Answer):
    """One step of an order."""

    at: str
    after_s: float = Field(description="Seconds since the order was accepted.")
    step: str
    sentence: str
    times: int = Field(description="How often in a row; `last_at` is the last time.")
    last_at: str | None = None
    note: str | None = Field(default=None, description="The reason of an ending, or an error.")


class AheadAnswer(Answer):
    """Something that is still due."""

    at: str
    duty: str
    sentence: str


class TraceAnswer(Answer):
    """An order's whole life. It names no buyer, holder, card or ticket."""

    event_id: str
    order_id: str
    shard: int
    status: Status
    parked: bool
    correlation_id: str | None = Field(default=None, description="Of the request that brought it; see the logs.")
    rev: int = Field(description="How often it has been written.")
    quantity: int
    rows: list[TraceRowAnswer]
    ahead: list[AheadAnswer] = Field(description="What is still due, earliest first.")
    duration_s: float = Field(description="From acceptance to the last write.")


def trace_answer(order: Order) -> TraceAnswer:
    """Write an order's trace."""
    began_ms = order.accepted_at_ms
    return TraceAnswer(
        event_id=order.key.event_id,
        order_id=order.key.order_id,
        shard=order.key.shard,
        status=order.status,
        parked=order.parked is not None,
        correlation_id=order.correlation_id or None,
        rev=order.rev,
        quantity=order.quantity,
        rows=[
            TraceRowAnswer(
                at=format_time_ms(row.at_ms),
                after_s=(row.at_ms - began_ms) / 1000,
                step=row.step,
                sentence=row.sentence,
                times=row.times,
                last_at=None if row.last_ms is None else format_time_ms(row.last_ms),
                note=row.note,
            )
            for row in trace_of(order)
        ],
        ahead=[
            AheadAnswer(at=format_time_ms(at_ms), duty=str(duty), sentence=sentence)
            for at_ms, duty, sentence in ahead_of(order)
        ],
        duration_s=max(0, order.updated_at_ms - began_ms) / 1000,
    )
