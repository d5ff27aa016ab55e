"""A sale's state as buyers follow it: one small frame, the same for all of them, from what the process knows anyway."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer, event_answer
from shared.domain.times import format_time_ms
from shared.ports.control import SaleView, Word


class LiveAnswer(Answer):
    """How the sale goes; some seconds old by nature."""

    event_id: str
    status: str = Field(description="As in the event itself.")
    server_time: str
    opens_at: str
    availability: dict[str, Word] = Field(description="By ticket type.")
    waiting: int | None = Field(default=None, description="Orders in line at `as_of`.")
    drained_per_s: float | None = Field(default=None, description="Orders that left the line a second, lately.")
    line_at: str | None = Field(
        default=None, description="How far the line has come: whoever was accepted before this has left it."
    )
    as_of: str | None = Field(default=None, description="When the workers last said how the sale goes.")


def live_answer(view: SaleView, now_ms: int) -> LiveAnswer:
    """Write the frame. Without a line nobody waits, and it has come as far as the notice is young."""
    event, notice = event_answer(view, now_ms), view.notice
    line_at_ms = None if notice is None else notice.at_ms if notice.head_ms is None else notice.head_ms
    return LiveAnswer(
        event_id=event.event_id,
        status=event.status,
        server_time=event.server_time,
        opens_at=event.opens_at,
        availability={kind.ticket_type_id: kind.availability for kind in event.ticket_types},
        waiting=event.waiting,
        drained_per_s=None if notice is None else notice.drained_per_s,
        line_at=None if line_at_ms is None else format_time_ms(line_at_ms),
        as_of=event.as_of,
    )
