"""Reading the statistics back: gathered over the stream shards, ranked, compared, with advice.

Reads per look: one query of minutes for each stream shard of the range, one of the last seconds, one list of stream
shards; never the orders themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.domain.errors import Invalid
from shared.domain.stats.hot_keys import Gathered, HotKeyReport, report_hot_keys
from shared.domain.stats.mark import BotRule, Mark, bot_like
from shared.domain.stats.window import MINUTE_S, SECOND_S, window_of
from shared.ports.stats import StatsStore

# A range that one look may cover, in seconds: 60 minutes' windows of every stream shard.
MAX_RANGE_S = 3_600
# Over how long the busiest second is looked for, in seconds.
PEAK_RANGE_S = 60
MAX_TOP = 100


def look_at_hot_keys(
    stats: StatsStore, *, now_ms: int, range_s: int, top: int = 20, shards_of: Mapping[str, int] | None = None
) -> HotKeyReport:
    """Report on the minutes that the last `range_s` seconds touch.

    `shards_of` maps event ids to their shard counts, as the sales say; what is missing is read off the keys. Invalid
    when range or `top` are out of bounds.
    """
    if not 1 <= range_s <= MAX_RANGE_S:
        raise Invalid(f"The range must lie between 1 and {MAX_RANGE_S} seconds.", field="range_s")
    if not 1 <= top <= MAX_TOP:
        raise Invalid(f"Between 1 and {MAX_TOP} names can be listed.", field="top")
    since_ms = window_of("", MINUTE_S, max(0, now_ms - range_s * 1000)).start_ms
    until_ms = now_ms + 1
    peak_since_ms = max(since_ms, now_ms - PEAK_RANGE_S * 1000)
    gathered = Gathered(
        since_ms=since_ms,
        until_ms=until_ms,
        windows=stats.read_windows(MINUTE_S, since_ms=since_ms, until_ms=until_ms),
        seconds=stats.read_windows(SECOND_S, since_ms=peak_since_ms, until_ms=until_ms),
        stream_shards=stats.list_stream_shards(since_ms=-1),
    )
    return report_hot_keys(gathered, top=top, shards_of=shards_of or {})


def find_bot_like(stats: StatsStore, *, now_ms: int, rule: BotRule) -> tuple[Mark, ...]:
    """Find the buyers above the rule in this minute or the one before."""
    this = window_of("", MINUTE_S, now_ms)
    since_ms = max(0, this.start_ms - MINUTE_S * 1000)
    return bot_like(stats.read_windows(MINUTE_S, since_ms=since_ms, until_ms=this.end_ms), rule, now_ms)
