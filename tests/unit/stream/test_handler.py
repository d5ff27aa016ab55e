"""The stream handler: each change counts once, whatever the event source does."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from consumers.stream.handler import handle, handler
from consumers.stream.parts import open_parts
from shared.domain.errors import AnswerLost, Broken, Invalid, Unavailable
from shared.domain.stats.window import WindowKey, WindowStats
from shared.ports.stats import StatsStore
from shared.stores.sqlite.stats import SqliteStats
from shared.system import SystemClock
from tests.fakes.system import FakeClock
from tests.unit.stream.records import (
    STREAM_SHARD,
    arrival,
    failures,
    held,
    make_event,
    make_record,
    spoil,
    totals,
)

LOGGER = Logger(service="test")


@pytest.fixture
def stats() -> Iterator[SqliteStats]:
    """Open an empty store of statistics."""
    store = SqliteStats(None, FakeClock())
    yield store
    store.close()


def deliver(stats: StatsStore, *records: Any, shard: str = STREAM_SHARD) -> list[int]:  # noqa: ANN401 - malformed too
    """Hand one batch to the handler and return the numbers it wants again."""
    return failures(handle(make_event(*records, shard=shard), stats, LOGGER))


class Broken2ndWrite(SqliteStats):
    """Fails the second window of a batch: before the write, or after it with the answer lost."""

    def __init__(self, error: Exception, *, applied: bool) -> None:
        super().__init__(None, FakeClock())
        self._error = error
        self._applied = applied
        self._calls = itertools.count(1)

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        if next(self._calls) != 2:
            return super().save_window(window, seen_rev=seen_rev)
        if self._applied:
            super().save_window(window, seen_rev=seen_rev)
        raise self._error


class Interrupted(SqliteStats):
    """Lets somebody else in between the first reading and writing of a window."""

    def __init__(self, interruption: Callable[[StatsStore], object]) -> None:
        super().__init__(None, FakeClock())
        self._interruptions = [interruption]

    def get_window(self, key: WindowKey) -> WindowStats | None:
        window = super().get_window(key)
        if self._interruptions:
            self._interruptions.pop()(self)
        return window


def test_counts_keys_events_buyers_and_steps(stats: SqliteStats) -> None:
    """An arrival and the step of an order to held are counted under every name that they have."""
    assert deliver(stats, make_record(1), held(2, at_ms=10_500)) == []

    for counts in totals(stats):
        assert (counts.writes, counts.arrivals) == (2, 1)
        assert counts.keys.rows == {"gig#1": (2, 1, 0)}
        assert counts.events.rows == {"gig": (2, 1, 0)}
        assert counts.buyers.rows == {"ann": (2, 1, 0)}
        assert counts.changes == {"new>queued": 1, "queued>held": 1}


def test_q11_a_batch_delivered_twice_counts_once(stats: SqliteStats) -> None:
    """Q11: a batch that is delivered again changes nothing."""
    records = [make_record(number) for number in range(1, 6)]
    deliver(stats, *records)
    once = totals(stats)

    assert deliver(stats, *records) == []
    assert totals(stats) == once
    assert once[0].arrivals == 5


def test_q11_a_batch_that_fails_at_the_third_of_five(stats: SqliteStats) -> None:
    """Q11: the third is reported, the others count once, and the third counts once when it can be read after all."""
    records = [make_record(number) for number in range(1, 6)]

    assert deliver(stats, *records[:2], spoil(records[2]), *records[3:]) == [3]
    assert [counts.arrivals for counts in totals(stats)] == [4, 4]
    assert deliver(stats, spoil(records[2]), *records[3:]) == [3]
    assert [counts.arrivals for counts in totals(stats)] == [4, 4]
    for _ in range(2):
        assert deliver(stats, *records[2:]) == []
        assert [counts.arrivals for counts in totals(stats)] == [5, 5]


def test_q11_overlapping_batches_around_a_split(stats: SqliteStats) -> None:
    """Q11: batches that overlap, and children of a split with lower numbers than their parent's last, count once."""
    records = [make_record(number) for number in range(1, 10)]
    deliver(stats, *records[:5])
    deliver(stats, *records[3:7])
    for child in ("shardId-left", "shardId-right"):
        deliver(stats, make_record(2 if child == "shardId-left" else 3), shard=child)

    assert [counts.arrivals for counts in totals(stats)] == [9, 9]


def test_q12_a_record_that_always_fails_is_counted_apart_and_listed(stats: SqliteStats) -> None:
    """Q12: however often it comes, it is one refused record, and the rest is done once."""
    batch = [make_record(1), spoil(make_record(2)), make_record(3)]
    for _ in range(4):
        assert deliver(stats, *batch) == [2]
    shard = stats.get_stream_shard(STREAM_SHARD)

    assert [counts.arrivals for counts in totals(stats)] == [2, 2]
    assert shard is not None
    assert shard.refused_total == 1
    assert list(shard.refused.values()) == ["The record has no NewImage; the stream must show new and old images."]


@pytest.mark.parametrize("event", [{}, {"Records": None}, {"Records": {}}, {"shardId": "s"}])
def test_q13_an_event_without_records_is_an_error(stats: SqliteStats, event: dict[str, Any]) -> None:
    """Q13: what is not a stream event is refused loudly."""
    with pytest.raises(Invalid, match="Records"):
        handle(event, stats, LOGGER)


def test_an_event_that_does_not_name_its_stream_shard_is_an_error(stats: SqliteStats) -> None:
    """Without the stream shard's name nothing can be counted once, and the message says what to configure."""
    with pytest.raises(Invalid, match="tumbling window"):
        handle({"Records": [make_record(1)]}, stats, LOGGER)


@pytest.mark.parametrize(
    "malformed",
    [
        spoil(make_record(2)),
        {**make_record(2), "eventName": "UPSERT"},
        {"dynamodb": {"SequenceNumber": make_record(2)["dynamodb"]["SequenceNumber"]}},
    ],
)
def test_q13_one_malformed_record_of_three(stats: SqliteStats, malformed: dict[str, Any]) -> None:
    """Q13: only the malformed record is reported, the other two are counted."""
    assert deliver(stats, make_record(1), malformed, make_record(3)) == [2]
    assert [counts.arrivals for counts in totals(stats)] == [2, 2]


@pytest.mark.parametrize("nameless", [None, "text", {}, {"dynamodb": {}}, {"dynamodb": {"SequenceNumber": "9" * 41}}])
def test_a_record_without_a_number_fails_the_batch_but_not_the_counts(stats: SqliteStats, nameless: object) -> None:
    """What cannot be reported by its number fails the whole delivery; its neighbours count once all the same."""
    for _ in range(2):
        with pytest.raises(Broken, match="1 of 3 records"):
            deliver(stats, make_record(1), nameless, make_record(3))

    assert [counts.arrivals for counts in totals(stats)] == [2, 2]


def test_numbers_compare_as_numbers(stats: SqliteStats) -> None:
    """Sequence numbers of 9, 10 and 40 digits are in the order of their values, not of their text."""
    numbers = [9, 10, 99, 100, 10**39]
    for number in numbers:
        record = make_record(1)
        record["dynamodb"]["SequenceNumber"] = str(number)
        for _ in range(2):
            assert handle(make_event(record), stats, LOGGER)["batchItemFailures"] == []

    assert [counts.arrivals for counts in totals(stats)] == [5, 5]


@pytest.mark.parametrize(("error", "applied"), [(Unavailable(), False), (AnswerLost(), True)])
def test_a_write_that_fails_between_two_windows(error: Exception, applied: bool) -> None:
    """What a window lacks is reported; the next delivery completes it without counting the rest twice."""
    stats = Broken2ndWrite(error, applied=applied)
    records = [make_record(number, at_ms=1_000 * number) for number in (1, 2, 3)]

    assert deliver(stats, *records) == [1, 2, 3]  # the minute, counted last, lacks them all
    assert deliver(stats, *records) == []
    assert [counts.arrivals for counts in totals(stats)] == [3, 3]
    stats.close()


def test_two_deliveries_at_the_same_time() -> None:
    """A batch that is counted elsewhere between reading and writing its window is counted once."""
    records = [make_record(number) for number in (1, 2, 3)]
    stats = Interrupted(lambda other: deliver(other, *records[:2]))

    assert deliver(stats, *records) == []
    assert [counts.arrivals for counts in totals(stats)] == [3, 3]
    stats.close()


def test_a_final_call_of_a_window_needs_no_records(stats: SqliteStats) -> None:
    """The call that ends a tumbling window, early or not, is answered with its state and nothing to repeat."""
    event = {**make_event(), "isFinalInvokeForWindow": True, "isWindowTerminatedEarly": True, "state": {"kept": 1}}

    assert handle(event, stats, LOGGER) == {"batchItemFailures": [], "state": {"kept": 1}}
    assert totals(stats)[0].writes == 0


def test_without_a_window_no_state_is_returned(stats: SqliteStats) -> None:
    """A mapping without a window, such as a local pump's, gets the failures only."""
    event = {"Records": [make_record(1)], "shardId": STREAM_SHARD}

    assert handle(event, stats, LOGGER) == {"batchItemFailures": []}


def test_every_stream_shard_and_window_has_an_item_of_its_own(stats: SqliteStats) -> None:
    """Two stream shards over three seconds and two minutes are ten items, each below the limit of its names."""
    for shard in ("a", "b"):
        deliver(stats, *(arrival(n, at_ms=at) for n, at in enumerate((58_000, 59_000, 60_000), 1)), shard=shard)

    assert len(stats.read_windows(1, since_ms=0, until_ms=10**9)) == 6
    assert len(stats.read_windows(60, since_ms=0, until_ms=10**9)) == 4


def test_no_buyer_stands_in_the_log(stats: SqliteStats, capsys: pytest.CaptureFixture[str]) -> None:
    """The log names the stream shard and the numbers of unreadable records, nothing that they hold."""
    logger = Logger(service="log-test")
    bad = arrival(1, buyer="auth0|secret-buyer", at_ms=1_000)
    bad["dynamodb"]["NewImage"]["status"] = {"S": "lost"}
    handle(make_event(bad), stats, logger)
    written = capsys.readouterr().out

    assert json.loads(written)["sequences"] == [bad["dynamodb"]["SequenceNumber"]]
    assert "secret-buyer" not in written


def test_the_entry_wires_itself_from_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Lambda entry opens the deployment's statistics once and counts into them."""
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path))
    record = make_record(1, at_ms=SystemClock().now_ms())
    open_parts.cache_clear()
    try:
        assert handler(make_event(record), None)["batchItemFailures"] == []
        assert len(open_parts().copies.store.list_orders("ann", limit=5).orders) == 1
        open_parts().stats.close()
        open_parts().copies.store.close()
    finally:
        open_parts.cache_clear()
    stats = SqliteStats(tmp_path, SystemClock())

    assert [counts.arrivals for counts in totals(stats)] == [1, 1]
    stats.close()
