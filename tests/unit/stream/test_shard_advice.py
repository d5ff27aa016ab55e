"""How many shards an event needs."""

from __future__ import annotations

import random

import pytest

from shared.domain.stats.shard_advice import advise, ceiling_units_per_s, units_per_write


@pytest.mark.parametrize(
    ("shards", "partitions"),
    [(10, 4), (32, 4), (128, 4), (10, 16), (32, 16), (128, 16), (1_000, 16), (32, 40), (128, 40), (1_000, 40)],
)
def test_the_ceiling_lies_between_a_median_and_a_bad_draw(shards: int, partitions: int) -> None:
    """Keys thrown into partitions carry at least the ceiling in most draws, and the median draw carries more."""
    draw = random.Random(shards * 1_000 + partitions)
    ceilings = sorted(_drawn_ceiling(draw, shards, partitions) for _ in range(400))
    ceiling = ceiling_units_per_s(shards, partitions)

    assert ceiling <= ceilings[len(ceilings) // 2]
    assert ceiling >= ceilings[len(ceilings) // 20] * 0.99


def _drawn_ceiling(draw: random.Random, shards: int, partitions: int) -> float:
    bins = [0] * partitions
    for _ in range(shards):
        bins[draw.randrange(partitions)] += 1
    return 1_000 * shards / max(bins)


@pytest.mark.parametrize(("shards", "partitions"), [(1, 4), (1, 400), (64, 1)])
def test_one_key_or_one_partition_carries_a_thousand(shards: int, partitions: int) -> None:
    """A single key never exceeds its partition, nor do any number of keys in one partition."""
    assert ceiling_units_per_s(shards, partitions) == 1_000


def test_an_event_that_fits_gets_no_advice() -> None:
    """Nothing is recommended while the present shards carry the peak with headroom."""
    assert advise("gig", peak_units_per_s=800, shards=1, partitions=4) is None
    assert advise("gig", peak_units_per_s=2_000, shards=32, partitions=4) is None


def test_a_hot_event_gets_the_fewest_shards_that_carry_it() -> None:
    """The advice names a power of two that carries the peak, a half of which does not, and the command to run."""
    advice = advise("gig", peak_units_per_s=2_000, shards=4, partitions=4)

    assert advice is not None
    assert advice.needed is not None
    assert ceiling_units_per_s(advice.needed, 4) >= 2_500 > ceiling_units_per_s(advice.needed // 2, 4)
    assert advice.command == f"onsale sale reshard gig --shards {advice.needed}"
    assert "its busiest second took 2,000 write units" in advice.because


def test_a_table_with_too_few_partitions_is_named_as_the_limit() -> None:
    """Where no shard count helps, the advice says to warm the table instead of sending people to reshard."""
    advice = advise("gig", peak_units_per_s=8_000, shards=64, partitions=4)

    assert advice is not None
    assert advice.needed is None
    assert advice.command is None
    assert "warm throughput to at least 10,000" in advice.because


def test_steps_in_transactions_cost_double() -> None:
    """An arrival, a hold and a confirmation are three changes and four write units."""
    changes = {"new>queued": 5, "queued>held": 5, "held>confirmed": 5}

    assert units_per_write(changes, 15) == pytest.approx(4 / 3)
    assert units_per_write({}, 0) == 1
