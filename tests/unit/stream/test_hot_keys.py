"""From a stream of records to the report an operator reads."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from aws_lambda_powertools import Logger

from consumers.stream.handler import handle
from consumers.stream.mark_bots import mark_bots
from shared.domain.errors import Invalid
from shared.domain.stats.key_patterns import Pattern
from shared.domain.stats.mark import MAX_MARKS, BotRule, Mark
from shared.domain.stats.report_value import report_value
from shared.hot_keys import look_at_hot_keys
from shared.stores.sqlite.stats import SqliteStats
from tests.fakes.system import FakeClock
from tests.unit.stream.records import FIRST, arrival, held, make_event, spoil

NOW_MS = 1_800_000_000_000
LOGGER = Logger(service="test", level="CRITICAL")


@pytest.fixture
def stats() -> Iterator[SqliteStats]:
    """Open an empty store of statistics."""
    store = SqliteStats(None, FakeClock(NOW_MS))
    yield store
    store.close()


class Feed:
    """Feeds arrivals, each event#shard to the stream shard of its partition."""

    def __init__(self, stats: SqliteStats) -> None:
        self._stats = stats
        self._number = 0

    def arrivals(
        self, count: int, *, event_id: str = "gig", shards: int = 4, buyer: str | None = None, at_ms: int = NOW_MS
    ) -> None:
        batches: dict[str, list[object]] = {}
        for _ in range(count):
            self._number += 1
            shard = self._number % shards
            name = buyer or f"buyer-{self._number}"
            record = arrival(self._number, event_id=event_id, shard=shard, buyer=name, at_ms=at_ms)
            batches.setdefault(f"stream-{shard % 4}", []).append(record)
        for stream_shard, records in batches.items():
            assert handle(make_event(*records, shard=stream_shard), self._stats, LOGGER)["batchItemFailures"] == []


def test_an_empty_store_reports_nothing(stats: SqliteStats) -> None:
    """Before the first record there is a report all the same, without figures and without advice."""
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60)

    assert (report.writes, report.newest_ms, report.keys.top, report.advice, report.flags) == (0, None, (), (), ())
    assert report_value(report, NOW_MS)["age_ms"] is None


def test_ranks_over_all_stream_shards(stats: SqliteStats) -> None:
    """Events and buyers are added up over the stream shards; those above a tenth of the writes are marked."""
    feed = Feed(stats)
    feed.arrivals(80, event_id="arena")
    feed.arrivals(12, event_id="club", buyer="bot")
    feed.arrivals(8, event_id="fair")
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60, top=3)

    assert [(hot.name, hot.writes, hot.share) for hot in report.events.top] == [
        ("arena", 80, 0.8),
        ("club", 12, 0.12),
        ("fair", 8, 0.08),
    ]
    assert [hot.above_share for hot in report.events.top] == [True, True, False]
    assert (report.buyers.top[0].name, report.buyers.top[0].arrivals) == ("bot", 12)
    assert report.buyers.top[0].above_share
    assert not report.buyers.top[1].above_share
    assert (report.writes, report.arrivals, report.stream_shards) == (100, 100, 4)
    assert report.changes == {"new>queued": 100}
    assert sum(hot.depth for hot in report.events.top) == 100


def test_only_the_range_counts(stats: SqliteStats) -> None:
    """Minutes before the range are left out; the minute in which it begins is in."""
    feed = Feed(stats)
    feed.arrivals(5, at_ms=NOW_MS - 600_000)
    feed.arrivals(7, at_ms=NOW_MS - 60_000)

    assert look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60).writes == 7
    assert look_at_hot_keys(stats, now_ms=NOW_MS, range_s=600).writes == 12


def test_skew_counts_shards_without_orders(stats: SqliteStats) -> None:
    """An event whose orders meet on two of its eight shards is uneven; the sale says how many there are."""
    Feed(stats).arrivals(200, shards=2)
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60, shards_of={"gig": 8})

    assert report.skew["gig"].shards == 8
    assert report.skew["gig"].max_over_mean == pytest.approx(4.0)
    assert report.skew["gig"].uneven


def test_a_hot_event_gets_advice_with_the_command(stats: SqliteStats) -> None:
    """An event whose busiest second nears a partition's ceiling is told how many shards it needs."""
    Feed(stats).arrivals(1_500, shards=1)
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60, shards_of={"gig": 1})

    assert [advice.command for advice in report.advice] == ["onsale sale reshard gig --shards 16"]
    assert report.advice[0].peak_units_per_s == 1_500
    assert [flag.pattern for flag in report.flags] == [Pattern.LOW_CARDINALITY]


def test_the_peak_is_in_write_units(stats: SqliteStats) -> None:
    """Steps that are written in transactions weigh double, so as many changes need more shards."""
    Feed(stats).arrivals(500, shards=1)
    records = [held(10_000 + number, at_ms=NOW_MS) for number in range(500)]
    handle(make_event(*records, shard="stream-0"), stats, LOGGER)
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60, shards_of={"gig": 1})

    assert [advice.peak_units_per_s for advice in report.advice] == [pytest.approx(1_500)]


def test_the_same_orders_over_a_minute_need_no_advice(stats: SqliteStats) -> None:
    """Advice follows the busiest second, not the sum of a range."""
    feed = Feed(stats)
    for second in range(50):
        feed.arrivals(30, shards=1, at_ms=NOW_MS - second * 1_000)

    assert look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60, shards_of={"gig": 1}).advice == ()


def test_refused_records_are_listed_apart(stats: SqliteStats) -> None:
    """What could not be read is in no count, but in the list, also when its stream shard has nothing else."""
    handle(make_event(spoil(arrival(1, at_ms=NOW_MS))), stats, LOGGER)
    report = look_at_hot_keys(stats, now_ms=NOW_MS, range_s=60)

    assert report.writes == 0
    assert report.refused_total == 1
    assert [(one.sequence, one.why.split(";")[0]) for one in report.refused] == [
        (FIRST + 1, "The record has no NewImage")
    ]


def test_the_value_is_json(stats: SqliteStats) -> None:
    """The report as plain values can be written as JSON, and says how old it is."""
    Feed(stats).arrivals(1_500, shards=1, at_ms=NOW_MS - 90_000)
    value = json.loads(json.dumps(report_value(look_at_hot_keys(stats, now_ms=NOW_MS, range_s=120), NOW_MS)))

    assert value["age_ms"] == 60_000
    assert value["events"]["top"][0] == {
        "name": "gig",
        "writes": 1_500,
        "writes_at_most": 1_500,
        "arrivals": 1_500,
        "depth_change": 1_500,
        "share": 1.0,
        "above_share": True,
    }
    assert value["buyers"]["missed"] > 0


@pytest.mark.parametrize(("range_s", "top"), [(0, 5), (3_601, 5), (60, 0), (60, 101)])
def test_a_look_is_bounded(stats: SqliteStats, range_s: int, top: int) -> None:
    """Range and length of the lists have limits, so that no look is dear."""
    with pytest.raises(Invalid):
        look_at_hot_keys(stats, now_ms=NOW_MS, range_s=range_s, top=top)


def test_bot_like_buyers_are_marked(stats: SqliteStats) -> None:
    """Who orders thirty times in a minute, over any stream shards, is slowed down for ten minutes; others are not."""
    feed = Feed(stats)
    feed.arrivals(30, buyer="bot")
    feed.arrivals(29, buyer="eager")
    feed.arrivals(20, buyer="steady", at_ms=NOW_MS - 60_000)
    feed.arrivals(20, buyer="steady")
    marks = mark_bots(stats, now_ms=NOW_MS, rule=BotRule())

    assert marks == (Mark("bot", 0.5, NOW_MS + 600_000),)
    assert stats.list_marks(now_ms=NOW_MS + 599_999) == marks
    assert stats.list_marks(now_ms=NOW_MS + 600_000) == ()


def test_the_fastest_are_marked_first(stats: SqliteStats) -> None:
    """More bots than there are marks leave out the slowest."""
    feed = Feed(stats)
    for number in range(MAX_MARKS + 1):
        feed.arrivals(3 if number else 2, buyer=f"bot-{number}", shards=4)
    marks = mark_bots(stats, now_ms=NOW_MS, rule=BotRule(orders_per_minute=2))

    assert len(marks) == MAX_MARKS
    assert "bot-0" not in {mark.buyer_id for mark in marks}
