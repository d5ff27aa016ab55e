"""How often the store refused for want of capacity, in time and by reason."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import ThrottleCard, ThrottlePoint
from shared.domain.throttling.explain import explain
from shared.domain.throttling.report import Attempts, Demand
from shared.domain.throttling.request import BUCKET_S, event_of
from shared.metering.snapshot import add_snapshots

# How far back the points go, and what counts as recent.
RANGE_S = 600
RECENT_S = 60
MAX_EXPLAINED = 3


def throttle_card(look: Look) -> ThrottleCard:
    """Add up what this process and its neighbours on the machine have counted; nothing is read from the store."""
    snapshots = look.parts.insight.snapshots(look.now_ms)
    attempts = add_snapshots(snapshots)
    now_s = look.now_ms // 1000
    buckets = {second: one for second, one in sorted(attempts.buckets.items()) if second > now_s - RANGE_S}
    recent = [one for second, one in buckets.items() if second > now_s - RECENT_S]
    tried = sum(one.attempts for one in recent)
    reasons: dict[str, int] = {}
    for one in buckets.values():
        for reason, count in one.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return ThrottleCard(
        as_of=look.as_of,
        processes=sorted(snapshot.process for snapshot in snapshots),
        attempts=attempts.total,
        throttled=attempts.throttled,
        rate=round(attempts.rate, 6),
        recent_rate=round(sum(one.throttled for one in recent) / tried, 6) if tried else 0.0,
        every_s=BUCKET_S,
        points=[
            ThrottlePoint(at_ms=second * 1000, attempts=one.attempts, throttled=one.throttled)
            for second, one in buckets.items()
        ],
        reasons=dict(sorted(reasons.items())),
        explained=_explained(look, attempts),
    )


def _explained(look: Look, attempts: Attempts) -> list[str]:
    commonest = sorted(attempts.throttles.items(), key=lambda entry: -entry[1].count)[:MAX_EXPLAINED]
    sentences = []
    for key, _ in commonest:
        event_id = event_of(key[3])
        demand = attempts.demand.get((key[0], event_id, "Write" in key[4]), Demand())
        shards = look.sale.shards if event_id == look.sale.event_id else None
        sentences.append(explain(key, demand, shards=shards, scale=look.parts.limits_scale).sentence)
    return sentences
