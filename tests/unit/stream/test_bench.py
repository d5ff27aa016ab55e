"""The bench of the counting, small."""

from __future__ import annotations

from msgspec.structs import replace

from infra.bench.hot_key_stream import Stream
from infra.bench.hot_keys import difference, run
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import Counts


def test_a_small_run_counts_exactly() -> None:
    """Redelivered and overlapping batches leave no difference, and the heaviest buyers are within the bound."""
    told: list[int] = []
    figures = run(records=20_000, buyers=2_000, skew=1.1, seed=3, progress=told.append)

    assert sum(told) == figures.records == 20_000
    assert figures.delivered > figures.records
    assert figures.count_difference == 0
    assert figures.top_within_bound


def test_the_difference_sees_every_kind_of_count() -> None:
    """One count too many anywhere is a difference of one: the bench cannot pass by comparing nothing."""
    books = Stream(buyers=5, skew=1, seed=1).books
    books.writes, books.arrivals = 1, 1
    books.keys["gig#1"] = books.events["gig"] = books.steps["new>queued"] = 1
    exact = Counts(
        1,
        1,
        keys=TopCounts({"gig#1": Row(1, 1, 1)}),
        events=TopCounts({"gig": Row(1, 1, 1)}),
        changes={"new>queued": 1},
    )

    assert difference(exact, books) == 0
    for wrong in (
        replace(exact, writes=2),
        replace(exact, arrivals=0),
        replace(exact, changes={}),
        replace(exact, keys=TopCounts({"gig#1": Row(2, 1, 1)})),
        replace(exact, events=TopCounts()),
    ):
        assert difference(wrong, books) == 1
