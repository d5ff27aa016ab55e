"""The summary of the most frequent names, held to its bound."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.stats.top_counts import Row, TopCounts, merge_top

# Few names in many writes, so that the summary is full and cuts.
STREAM = st.lists(st.tuples(st.integers(0, 12).map(str), st.booleans(), st.integers(-1, 1)), max_size=120)
CAPACITY = st.integers(1, 6)


def summary(stream: list[tuple[str, bool, int]]) -> TopCounts:
    """Count a stream exactly."""
    rows: dict[str, Row] = {}
    for name, arrived, depth in stream:
        rows[name] = rows.get(name, Row(0, 0, 0)).plus(Row(1, int(arrived), depth))
    return TopCounts(rows)


def check_bound(top: TopCounts, stream: list[tuple[str, bool, int]], capacity: int) -> None:
    """Assert what the module promises of a summary of this stream."""
    writes = Counter(name for name, _, _ in stream)
    arrivals = Counter(name for name, arrived, _ in stream if arrived)
    assert (capacity + 1) * top.missed <= len(stream)
    for name in writes:
        row = top.rows.get(name, Row(0, 0, 0))
        assert row.writes <= writes[name] <= row.writes + top.missed
        assert row.arrivals <= arrivals[name] <= row.arrivals + top.missed
        depth = sum(part for other, _, part in stream if other == name)
        assert abs(depth - row.depth) <= top.missed
    assert top.rows.keys() <= writes.keys()


@given(st.lists(STREAM, max_size=8), CAPACITY)
def test_the_bound_holds_batch_by_batch(batches: list[list[tuple[str, bool, int]]], capacity: int) -> None:
    """After every batch each count lacks at most what is said to be missed, and that is within writes / (k + 1)."""
    top = TopCounts()
    seen: list[tuple[str, bool, int]] = []
    for batch in batches:
        top = top.merged(summary(batch), capacity)
        seen += batch
        assert len(top.rows) <= capacity
        check_bound(top, seen, capacity)


@given(st.lists(STREAM, min_size=1, max_size=6), CAPACITY)
def test_the_bound_holds_for_merged_summaries(streams: list[list[tuple[str, bool, int]]], capacity: int) -> None:
    """Summaries of several streams, added without or with cutting again, keep the bound of the whole."""
    parts = [summary(stream).cut(capacity) for stream in streams]
    whole = [entry for stream in streams for entry in stream]

    check_bound(merge_top(parts), whole, capacity)
    check_bound(merge_top(parts).cut(capacity), whole, capacity)


def test_a_heavy_name_is_never_lost() -> None:
    """A name with more than its share of the writes stands in the summary, whatever comes between."""
    top = TopCounts()
    for number in range(500):
        stream = [("heavy", True, 0)] + [(f"light-{number}-{n}", True, 0) for n in range(4)]
        top = top.merged(summary(stream), 9)

    assert top.top(1)[0][0] == "heavy"
    assert top.rows["heavy"].writes <= 500 <= top.rows["heavy"].writes + top.missed


def test_the_top_is_ordered_by_writes_then_name() -> None:
    """Names with equal counts come in the order of their names, so that an answer can be repeated."""
    top = TopCounts({"b": Row(2, 0, 0), "a": Row(2, 0, 0), "c": Row(9, 0, 0)})

    assert [name for name, _ in top.top(2)] == ["c", "a"]
