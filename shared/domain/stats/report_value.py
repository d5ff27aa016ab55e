"""A report as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from shared.domain.stats.hot_keys import HotKeyReport, Ranking


def report_value(report: HotKeyReport, now_ms: int) -> dict[str, Any]:
    """Write a report: counts are whole numbers, shares fractions of all writes, sequence numbers text.

    `age_ms` says how long ago the newest window ended, 0 while it is still running, None when there is none.
    `missed` is the most by which any count beside it may be too low.
    """
    return {
        "since_ms": report.since_ms,
        "until_ms": report.until_ms,
        "age_ms": None if report.newest_ms is None else max(0, now_ms - report.newest_ms),
        "stream_shards": report.stream_shards,
        "writes": report.writes,
        "arrivals": report.arrivals,
        "changes": dict(report.changes),
        "keys": _ranking(report.keys),
        "events": _ranking(report.events),
        "buyers": _ranking(report.buyers),
        "skew": {
            event_id: {
                "shards": skew.shards,
                "orders": skew.orders,
                "max_over_mean": round(skew.max_over_mean, 3),
                "chi_square": round(skew.chi_square, 3),
                "p_value": skew.p_value,
                "uneven": skew.uneven,
            }
            for event_id, skew in sorted(report.skew.items())
        },
        "flags": [{"pattern": str(flag.pattern), "key": flag.key, "sentence": flag.sentence} for flag in report.flags],
        "advice": [asdict(advice) for advice in report.advice],
        "refused": [
            {"stream_shard": one.stream_shard, "sequence": str(one.sequence), "why": one.why} for one in report.refused
        ],
        "refused_total": report.refused_total,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "missed": ranking.missed,
        "top": [
            {
                "name": hot.name,
                "writes": hot.writes,
                "writes_at_most": hot.writes_at_most,
                "arrivals": hot.arrivals,
                "depth_change": hot.depth,
                "share": round(hot.share, 4),
                "above_share": hot.above_share,
            }
            for hot in ranking.top
        ],
    }
