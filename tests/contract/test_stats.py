"""What every store of statistics does."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.ministack import create_local_tables
from shared.domain.errors import Unavailable
from shared.domain.stats.mark import MAX_MARKS, Mark
from shared.domain.stats.states import EventStates
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import (
    KEEP_S,
    MAX_BUYERS,
    MAX_EVENTS,
    MAX_KEYS,
    MINUTE_S,
    SECOND_S,
    Counts,
    WindowKey,
    WindowStats,
)
from shared.ports.stats import StatsStore
from shared.settings import Settings
from shared.wiring import open_stats
from tests.fakes.system import FakeClock

START_MS = 1_764_000_000_000
BIG = 10**40 - 1


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock that the store under test reads."""
    return FakeClock(START_MS)


@pytest.fixture(params=["sqlite", "dynamodb"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Return the settings of a fresh deployment with each store."""
    if request.param == "sqlite":
        return Settings(data_dir=str(tmp_path))
    url = request.getfixturevalue("ministack")
    prefix = f"stats-{uuid.uuid4().hex[:8]}"
    create_local_tables(url, prefix)
    return Settings(store="dynamodb", dynamodb_url=url, table_prefix=prefix)


@pytest.fixture
def stats(settings: Settings, clock: FakeClock) -> Iterator[StatsStore]:
    """Open the statistics of that deployment."""
    store = open_stats(settings, clock)
    yield store
    store.close()


def make_window(
    shard: str = "a", *, length_s: int = MINUTE_S, start_ms: int = START_MS, rev: int = 1, upto: int = 7
) -> WindowStats:
    """Make a window with something in every part."""
    counts = Counts(
        writes=3,
        arrivals=2,
        keys=TopCounts({"gig#1": Row(2, 1, -1), "gig#2": Row(1, 1, 1)}, missed=4),
        events=TopCounts({"gig": Row(3, 2, 0)}),
        buyers=TopCounts({"auth0|山田": Row(3, 2, 0)}, missed=1),
        changes={"new>queued": 2, "queued>held": 1},
    )
    return WindowStats(WindowKey(shard, length_s, start_ms), counts, upto, frozenset({3, BIG - 1}), rev)


def test_a_window_is_read_as_it_was_saved(stats: StatsStore) -> None:
    """Every part of a window comes back, sequence numbers of 40 digits included."""
    window = make_window(upto=BIG)

    assert stats.get_window(window.key) is None
    assert stats.save_window(window, seen_rev=0)
    assert stats.get_window(window.key) == window
    assert stats.save_stream_shard(StreamShard("a", START_MS, rev=1), seen_rev=0)
    assert stats.read_windows(MINUTE_S, since_ms=START_MS, until_ms=START_MS + 1) == (window,)


def test_only_one_of_two_writers_saves(stats: StatsStore) -> None:
    """A window is replaced on condition of its revision, and created only where none stands."""
    first = make_window(rev=1)
    assert stats.save_window(first, seen_rev=0)

    assert not stats.save_window(make_window(rev=1, upto=9), seen_rev=0)
    assert stats.save_window(make_window(rev=2, upto=8), seen_rev=1)
    assert not stats.save_window(make_window(rev=2, upto=9), seen_rev=1)
    stored = stats.get_window(first.key)
    assert stored is not None
    assert (stored.rev, stored.upto) == (2, 8)


def test_concurrent_writers_lose_no_count(stats: StatsStore) -> None:
    """Writers that read, add and save on condition, each until it is done, add up."""
    key = make_window().key

    def add(number: int) -> None:
        while True:
            window = stats.get_window(key) or WindowStats(key)
            counted = window.plus(Counts(writes=1), [number], ())
            if stats.save_window(counted, seen_rev=window.rev):
                return

    threads = [threading.Thread(target=add, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    window = stats.get_window(key)

    assert window is not None
    assert (window.counts.writes, window.rev, window.upto) == (8, 8, 8)


def test_windows_are_gathered_over_stream_shards_and_time(stats: StatsStore) -> None:
    """A range holds the windows of one length that start in it, by time, then by stream shard."""
    for shard in ("b", "a"):
        stats.save_stream_shard(StreamShard(shard, START_MS + 60_000, rev=1), seen_rev=0)
        for minute in range(3):
            stats.save_window(make_window(shard, start_ms=START_MS + minute * 60_000), seen_rev=0)
        stats.save_window(make_window(shard, length_s=SECOND_S), seen_rev=0)
    found = stats.read_windows(MINUTE_S, since_ms=START_MS, until_ms=START_MS + 120_000)

    assert [(window.key.start_ms - START_MS, window.key.stream_shard) for window in found] == [
        (0, "a"),
        (0, "b"),
        (60_000, "a"),
        (60_000, "b"),
    ]
    assert len(stats.read_windows(SECOND_S, since_ms=START_MS, until_ms=START_MS + 120_000)) == 2


def test_a_window_past_its_time_is_not_shown(stats: StatsStore, clock: FakeClock) -> None:
    """What has expired is left out whether or not the store has deleted it."""
    stats.save_stream_shard(StreamShard("a", START_MS, rev=1), seen_rev=0)
    stats.save_window(make_window(length_s=SECOND_S), seen_rev=0)

    clock.advance(KEEP_S[SECOND_S] + 0.999)
    assert len(stats.read_windows(SECOND_S, since_ms=START_MS, until_ms=START_MS + 1)) == 1
    clock.advance(0.001)
    assert stats.read_windows(SECOND_S, since_ms=START_MS, until_ms=START_MS + 1) == ()


def test_the_largest_window_fits_an_item(stats: StatsStore) -> None:
    """A window that is full of the longest names, none of which compresses well, can be stored."""

    def full(count: int, chars: int) -> TopCounts:
        names = ("".join(uuid.uuid4().hex for _ in range(11))[:chars] for _ in range(count))
        return TopCounts({name: Row(10**9, 10**9, -(10**9)) for name in names})

    counts = Counts(10**9, 10**9, full(MAX_KEYS, 69), full(MAX_EVENTS, 64), full(MAX_BUYERS, 256), {})
    window = WindowStats(make_window().key, counts, BIG, frozenset(range(BIG - 200, BIG)), 1)

    assert stats.save_window(window, seen_rev=0)
    assert stats.get_window(window.key) == window


def test_stream_shards(stats: StatsStore) -> None:
    """A stream shard is saved on condition, read back whole, and listed from its newest minute on."""
    shard = StreamShard("a", START_MS, {BIG: "no image"}, 12, BIG, 1)

    assert stats.get_stream_shard("a") is None
    assert stats.save_stream_shard(shard, seen_rev=0)
    assert not stats.save_stream_shard(shard, seen_rev=0)
    assert not stats.save_stream_shard(shard, seen_rev=2)
    assert stats.save_stream_shard(StreamShard("b", START_MS + 60_000, rev=1), seen_rev=0)
    assert stats.get_stream_shard("a") == shard
    assert [part.name for part in stats.list_stream_shards(since_ms=START_MS + 59_999)] == ["a", "b"]
    assert [part.name for part in stats.list_stream_shards(since_ms=START_MS + 60_000)] == ["b"]


def test_marks(stats: StatsStore) -> None:
    """A mark replaces an older one of its buyer, and holds until its time."""
    stats.mark_buyers([Mark("b", 1.5, START_MS + 10), Mark("a", 0.5, START_MS + 20)])
    stats.mark_buyers([Mark("b", 2.5, START_MS + 30)])

    assert stats.list_marks(now_ms=START_MS + 10) == (
        Mark("a", 0.5, START_MS + 20),
        Mark("b", 2.5, START_MS + 30),
    )
    assert stats.list_marks(now_ms=START_MS + 29) == (Mark("b", 2.5, START_MS + 30),)
    assert stats.list_marks(now_ms=START_MS + 30) == ()


def test_the_list_of_marks_is_bounded(stats: StatsStore) -> None:
    """However many buyers are marked, a reader gets a bounded list."""
    stats.mark_buyers([Mark(f"bot-{number:03d}", 1.0, START_MS + 10) for number in range(MAX_MARKS + 5)])

    assert len(stats.list_marks(now_ms=START_MS)) == MAX_MARKS


def test_a_closed_store_says_so(stats: StatsStore) -> None:
    """After closing, a call is Unavailable, not something of the back end's own."""
    stats.close()

    with pytest.raises(Unavailable):
        stats.list_marks(now_ms=0)
    with pytest.raises(Unavailable):
        stats.save_window(make_window(), seen_rev=0)


def test_states_are_replaced_on_condition_of_their_rev(stats: StatsStore) -> None:
    """What a stream shard told of an event is read as it was saved, and only its next version takes its place."""
    first = EventStates(
        "gig", "a", {0: {"queued": 3}, 7: {"held": -1, "parked": 1}}, START_MS, BIG, frozenset({BIG}), 1
    )
    second = EventStates("gig", "a", {0: {"queued": 4}}, START_MS + 1, BIG, rev=2)

    assert stats.get_states("gig", "a") is None
    assert stats.save_states(first, seen_rev=0)
    assert not stats.save_states(first, seen_rev=0)
    assert stats.get_states("gig", "a") == first
    assert stats.save_states(second, seen_rev=1)
    assert not stats.save_states(first, seen_rev=1)
    assert stats.get_states("gig", "a") == second


def test_states_are_listed_by_event(stats: StatsStore) -> None:
    """All stream shards of one event, and no other event's."""
    ours = [EventStates("gig", name, {1: {"queued": 1}}, START_MS, 7, rev=1) for name in ("a", "b")]
    for states in (*ours, EventStates("gig2", "a", {}, START_MS, 7, rev=1)):
        stats.save_states(states, seen_rev=0)

    assert stats.list_states("gig") == tuple(ours)
    assert stats.list_states("nothing") == ()
