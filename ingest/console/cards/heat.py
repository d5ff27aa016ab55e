"""Hot keys, events and buyers."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import HotKeyCard, HotName
from shared.domain.stats.hot_keys import Hot
from shared.hot_keys import look_at_hot_keys

RANGE_S = 300
TOP = 5


def hot_key_card(look: Look) -> HotKeyCard:
    """Rank the last minutes: as many reads as `look_at_hot_keys` says, none of them of orders."""
    event_id = look.sale.event_id
    report = look_at_hot_keys(
        look.parts.insight.open_stats(),
        now_ms=look.now_ms,
        range_s=RANGE_S,
        top=TOP,
        shards_of={event_id: look.sale.shards},
    )
    skew = report.skew.get(event_id)
    return HotKeyCard(
        as_of=look.as_of,
        over_s=RANGE_S,
        writes=report.writes,
        missed=report.keys.missed,
        keys=[_name(hot) for hot in report.keys.top],
        events=[_name(hot) for hot in report.events.top],
        buyers=[_name(hot) for hot in report.buyers.top],
        max_over_mean=None if skew is None else round(skew.max_over_mean, 3),
        uneven=skew is not None and skew.uneven,
        advice=[
            f"{advice.event_id}: {advice.because}" + (f" {advice.command}" if advice.command else "")
            for advice in report.advice
        ],
    )


def _name(hot: Hot) -> HotName:
    return HotName(name=hot.name, writes=hot.writes, share=round(hot.share, 4), above_share=hot.above_share)
