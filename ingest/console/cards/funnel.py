"""Received, accepted, held, confirmed; and why the door refused."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import FunnelCard
from shared.domain.stats.states import PARKED
from shared.domain.times import format_time_ms
from shared.metrics import ORDERS

ACCEPTED, REPEATED = "accepted", "repeated"


def funnel_card(look: Look) -> FunnelCard:
    """Count the event's orders by status, from one query; the door's answers from what is counted in memory."""
    answers = _answers(look)
    by_status = {state: count for state, count in look.by_status().items() if state != PARKED and count}
    newest_ms = max((states.newest_ms for states in look.states()), default=0)
    notice = look.view.notice
    return FunnelCard(
        as_of=look.as_of,
        asked=sum(answers.values()),
        repeated=answers.get(REPEATED, 0),
        refused={name: count for name, count in answers.items() if name not in {ACCEPTED, REPEATED}},
        accepted=sum(by_status.values()),
        by_status=by_status,
        waiting=None if notice is None else notice.waiting,
        drained_per_s=None if notice is None else notice.drained_per_s,
        counted_until=format_time_ms(newest_ms) if newest_ms else None,
    )


def _answers(look: Look) -> dict[str, int]:
    series = look.parts.insight.watch.meter.read().get(ORDERS.name, {})
    return {labels[0]: round(one.value) for labels, one in sorted(series.items())}
