"""Counts against an independent recount, over every way in which an event source may deliver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from hypothesis import given
from hypothesis import strategies as st

from consumers.stream.count_once import Incomplete
from consumers.stream.handler import handle
from shared.domain.errors import AnswerLost, Contended, Unavailable
from shared.domain.stats.states import EventStates, add_steps
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import WindowStats
from shared.stores.sqlite.stats import SqliteStats
from tests.fakes.system import FakeClock
from tests.unit.stream.records import arrival, failures, make_event, spoil, totals

LOGGER = Logger(service="test", level="CRITICAL")
FOR_EVER = 10**6
SHARDS = ("a", "b")


class FaultyStats(SqliteStats):
    """A store whose writes fail as told, one by one: before they are applied, or after."""

    def __init__(self) -> None:
        super().__init__(None, FakeClock())
        self.faults: list[str] = []

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        self._before()
        saved = super().save_window(window, seen_rev=seen_rev)
        self._after()
        return saved

    def save_stream_shard(self, stream_shard: StreamShard, *, seen_rev: int) -> bool:
        self._before()
        saved = super().save_stream_shard(stream_shard, seen_rev=seen_rev)
        self._after()
        return saved

    def save_states(self, states: EventStates, *, seen_rev: int) -> bool:
        self._before()
        saved = super().save_states(states, seen_rev=seen_rev)
        self._after()
        return saved

    def _before(self) -> None:
        if self.faults and self.faults[-1] in {"down", "contended"}:
            raise Unavailable if self.faults.pop() == "down" else Contended

    def _after(self) -> None:
        if self.faults and self.faults.pop() == "lost":
            raise AnswerLost


class Source:
    """One stream shard as an event source reads it: in order, back at times, never past what may still succeed."""

    def __init__(self, name: str, records: list[dict[str, Any]], poison: Mapping[int, int]) -> None:
        """Take the records; `poison` maps an index to how many deliveries find that record spoiled."""
        self.name = name
        self.records = records
        self.poison = dict(poison)
        self.at = 0

    def deliver(self, stats: SqliteStats, *, back: int, size: int, give_up: bool) -> bool:
        """Deliver one batch; return whether nothing is left to repeat."""
        start = max(0, self.at - back)
        end = min(len(self.records), max(self.at, start) + size)
        batch = []
        spoiled = set()
        for index in range(start, end):
            if self.poison.get(index, 0) > 0:
                self.poison[index] -= 1
                spoiled.add(index + 1)
                batch.append(spoil(self.records[index]))
            else:
                batch.append(self.records[index])
        try:
            failed = failures(handle(make_event(*batch, shard=self.name), stats, LOGGER))
        except Incomplete:
            # The whole batch comes again.
            return False
        assert spoiled <= set(failed)
        if not failed or (give_up and set(failed) == spoiled):
            self.at = max(self.at, end)  # delivered, or parked where the event source sends what it gives up
        else:
            self.at = max(self.at, min(failed) - 1)
        return not failed

    def drain(self, stats: SqliteStats) -> None:
        """Deliver everything once more until only what is spoiled for ever is left."""
        for _ in range(max((n for n in self.poison.values() if n < FOR_EVER // 2), default=0) + 1):
            self.deliver(stats, back=len(self.records), size=len(self.records), give_up=True)


RECORDS = st.lists(
    st.tuples(st.sampled_from(["gig", "ball"]), st.integers(0, 3), st.sampled_from("uvwxyz"), st.integers(0, 900)),
    min_size=1,
    max_size=12,
)
POISON = st.dictionaries(st.integers(0, 11), st.sampled_from([1, 2, FOR_EVER]), max_size=3)
DELIVERIES = st.lists(
    st.tuples(
        st.sampled_from(SHARDS),
        st.integers(0, 5),
        st.integers(0, 5),
        st.booleans(),
        st.lists(st.sampled_from(["ok", "down", "lost", "contended"]), max_size=5),
    ),
    max_size=15,
)


@given(st.tuples(RECORDS, RECORDS), st.tuples(POISON, POISON), DELIVERIES)
def test_counts_equal_an_independent_recount(
    shards: tuple[Any, Any], poisons: tuple[dict[int, int], dict[int, int]], deliveries: list[Any]
) -> None:
    """Redelivered, overlapping, partly failing batches over a faulty store count every readable record once."""
    stats = FaultyStats()
    sources: dict[str, Source] = {}
    expected: list[tuple[str, int, str]] = []
    for name, rows, poison in zip(SHARDS, shards, poisons, strict=True):
        at_ms = 57_000
        records = []
        for index, (event_id, shard, buyer, step_ms) in enumerate(rows):
            at_ms += step_ms
            records.append(arrival(index + 1, event_id=event_id, shard=shard, buyer=buyer, at_ms=at_ms))
            if poison.get(index, 0) < FOR_EVER:
                expected.append((event_id, shard, buyer))
        sources[name] = Source(name, records, poison)

    for name, back, size, give_up, faults in deliveries:
        stats.faults = list(faults)
        sources[name].deliver(stats, back=back, size=size, give_up=give_up)
    stats.faults = []
    for source in sources.values():
        source.drain(stats)

    for counts in totals(stats):
        assert counts.writes == counts.arrivals == counts.changes.get("new>queued", 0) == len(expected)
        assert _arrivals(counts.keys.rows) == Counter(f"{event_id}#{shard}" for event_id, shard, _ in expected)
        assert _arrivals(counts.events.rows) == Counter(event_id for event_id, _, _ in expected)
        assert _arrivals(counts.buyers.rows) == Counter(buyer for _, _, buyer in expected)
    for event_id in ("gig", "ball"):
        queued = Counter(shard for event, shard, _ in expected if event == event_id)
        found = add_steps(states.counts for states in stats.list_states(event_id))
        assert found == {shard: {"queued": count} for shard, count in queued.items()}
    for source in sources.values():
        listed = stats.get_stream_shard(source.name)
        spoiled = [index for index, left in source.poison.items() if left and index < len(source.records)]
        assert listed is not None
        assert listed.refused_total == len(listed.refused) == len(spoiled)
    stats.close()


@pytest.mark.parametrize("fault", ["down", "lost", "contended"])
@pytest.mark.parametrize("write", [1, 2, 3, 4])
def test_a_late_record_counts_once_wherever_its_counting_is_interrupted(write: int, fault: str) -> None:
    """A record that was refused, then read, counts once though one of its four writes fails."""
    stats = FaultyStats()
    records = [arrival(number, at_ms=61_000) for number in (1, 2, 3)]
    handle(make_event(spoil(records[0]), *records[1:], shard="a"), stats, LOGGER)

    stats.faults = [fault, *["ok"] * (write - 1)]
    assert failures(handle(make_event(*records, shard="a"), stats, LOGGER))
    assert stats.faults == []
    for _ in range(2):
        assert failures(handle(make_event(*records, shard="a"), stats, LOGGER)) == []
        assert [counts.arrivals for counts in totals(stats)] == [3, 3]
        assert add_steps(states.counts for states in stats.list_states("gig")) == {0: {"queued": 3}}
    shard = stats.get_stream_shard("a")

    assert shard is not None
    assert (shard.refused, shard.refused_total) == ({}, 0)
    stats.close()


def _arrivals(rows: Mapping[str, tuple[int, int, int]]) -> dict[str, int]:
    return {name: row[1] for name, row in rows.items()}
