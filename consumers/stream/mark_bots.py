"""Marks buyers who order faster than people do, for the door to slow down.

A buyer's orders are spread over all stream shards, so no single batch shows the rate: this looks at all of them, every
few seconds or minutes by a schedule of its own.
"""

from __future__ import annotations

from consumers.stream.parts import Parts, open_parts
from shared.domain.stats.mark import BotRule, Mark
from shared.hot_keys import find_bot_like
from shared.metrics import MARKED, STREAM_REFUSED
from shared.ports.stats import StatsStore


def handler(event: object, context: object) -> dict[str, int]:  # noqa: ARG001 - as Lambda calls it
    """Lambda entry for a schedule; returns how many buyers are marked by this run."""
    parts: Parts = open_parts()
    try:
        marks = mark_bots(parts.stats, now_ms=parts.clock.now_ms(), rule=BotRule())
        _measure(parts)
    finally:
        parts.send()
    if marks:
        parts.logger.info("Buyers who order like programs are slowed down.", action="mark", marked=len(marks))
    return {"marked": len(marks)}


def mark_bots(stats: StatsStore, *, now_ms: int, rule: BotRule) -> tuple[Mark, ...]:
    """Find and mark them; returns the marks. A mark lapses by itself once its buyer slows down."""
    marks = find_bot_like(stats, now_ms=now_ms, rule=rule)
    if marks:
        stats.mark_buyers(marks)
    return marks


def _measure(parts: Parts) -> None:
    """Set the gauges that only the statistics know."""
    meter, stats = parts.watch.meter, parts.stats
    meter.put(MARKED, len(stats.list_marks(now_ms=parts.clock.now_ms())))
    meter.put(STREAM_REFUSED, sum(shard.refused_total for shard in stats.list_stream_shards(since_ms=-1)))
