"""Buyers who behave like programs: noted by the stream, slowed down by the door."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from shared.domain.stats.window import MINUTE_S, WindowStats, add_counts

# Marks are read by every process of the door every few seconds, from one key: the list stays small.
MAX_MARKS = 200


class Mark(Struct, frozen=True):
    """One buyer (the token's subject), how fast they were, and until when they are slowed down."""

    buyer_id: str
    orders_per_s: float
    until_ms: int


class BotRule(Struct, frozen=True):
    """Who is marked: `orders_per_minute` new orders or more within one minute; for `slow_s` seconds.

    A person who presses the button again after a timeout sends the same idempotency key, which is one order.
    """

    orders_per_minute: int = 30
    slow_s: int = 600


def bot_like(windows: Iterable[WindowStats], rule: BotRule, now_ms: int) -> tuple[Mark, ...]:
    """Find buyers above the rule in any one minute, the fastest first, at most MAX_MARKS.

    `windows` are minutes of any stream shards. What a summary missed is not held against anyone: only counted orders
    count.
    """
    minutes: dict[int, list[WindowStats]] = {}
    for window in windows:
        if window.key.length_s == MINUTE_S:
            minutes.setdefault(window.key.start_ms, []).append(window)
    fastest: dict[str, int] = {}
    for parts in minutes.values():
        for buyer_id, row in add_counts(part.counts for part in parts).buyers.rows.items():
            if row.arrivals >= rule.orders_per_minute:
                fastest[buyer_id] = max(row.arrivals, fastest.get(buyer_id, 0))
    ranked = sorted(fastest.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_MARKS]
    return tuple(Mark(buyer_id, orders / MINUTE_S, now_ms + rule.slow_s * 1000) for buyer_id, orders in ranked)
