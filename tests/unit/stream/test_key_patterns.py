"""Key designs that make a partition hot."""

from __future__ import annotations

import pytest

from shared.domain.stats.key_patterns import Pattern, effective_keys, find_patterns
from shared.domain.stats.top_counts import Row
from shared.domain.times import parse_time_ms

NOW_MS = parse_time_ms("2026-11-30T12:00:00Z")


def rows(**writes: int) -> dict[str, Row]:
    """Make rows of so many writes."""
    return {name: Row(count, count, 0) for name, count in writes.items()}


def patterns(keys: dict[str, Row], partitions: int = 1) -> list[Pattern]:
    """Return the kinds of what is found."""
    writes = sum(row.writes for row in keys.values())
    return [flag.pattern for flag in find_patterns(keys, writes=writes, partitions=partitions, now_ms=NOW_MS)]


@pytest.mark.parametrize(
    "key",
    ["orders-2026-11-30", "20261130", "2026-11-30T12", "queue#2026-11-30", "orders-1796040000", "t#1796040000000"],
)
def test_a_key_that_names_the_present_time(key: str) -> None:
    """A date or an epoch time of today in a key with many writes is a time bucket."""
    assert patterns(rows(**{key: 900, "other": 200})) == [Pattern.TIME_BUCKET]


@pytest.mark.parametrize(
    "key",
    ["orders-2025-11-30", "orders-2026-13-45", "gig-12345", "tour2026", "orders-1700000000", "1796040000123456"],
)
def test_a_key_that_only_looks_like_time(key: str) -> None:
    """Another day, an impossible date or any other number is no time bucket."""
    assert patterns(rows(**{key: 900, "other": 200})) == []


def test_an_event_named_by_its_date_is_spread_by_its_shards() -> None:
    """Composite keys with a date in the event's id are suffixed, and therefore no time bucket."""
    assert patterns(rows(**{f"gig-2026-11-30#{shard}": 300 for shard in range(4)})) == []
    assert patterns(rows(**{"gig-2026-11-30#0": 1_200})) == [Pattern.TIME_BUCKET]


def test_a_time_bucket_with_few_writes_does_not_matter() -> None:
    """A key below a tenth of the writes is not pointed out."""
    assert patterns(rows(**{"orders-2026-11-30": 100, "other": 1_000})) == []


def test_fewer_keys_than_partitions() -> None:
    """A handful of keys on a wide table leave partitions idle; as many even keys as partitions do not."""
    few = rows(a=1_000, b=1_000)
    assert patterns(few, partitions=4) == [Pattern.LOW_CARDINALITY]
    assert patterns(few, partitions=2) == []
    assert patterns(rows(**{str(n): 300 + n for n in range(4)}), partitions=4) == []
    assert patterns(rows(**{"hot": 9_700, **{str(n): 10 for n in range(30)}}), partitions=4) == [
        Pattern.LOW_CARDINALITY
    ]


def test_a_quiet_range_says_nothing() -> None:
    """Below a thousand writes no design is judged."""
    assert patterns(rows(**{"orders-2026-11-30": 999}), partitions=8) == []


def test_effective_keys() -> None:
    """Even keys count whole, a dominating one counts as little more than one."""
    assert effective_keys(rows(a=5, b=5, c=5)) == pytest.approx(3)
    assert effective_keys(rows(a=1_000, b=1)) == pytest.approx(1, abs=0.01)
    assert effective_keys({}) == 0
