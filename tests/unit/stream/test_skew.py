"""How evenly shards are used."""

from __future__ import annotations

import random

import pytest

from shared.domain.stats.skew import chi_square_tail, skew_of


@pytest.mark.parametrize(
    ("value", "degrees", "tail"),
    [(3.841, 1, 0.05), (11.070, 5, 0.05), (16.919, 9, 0.05), (29.588, 10, 0.001), (149.449, 100, 0.001)],
)
def test_the_tail_of_chi_square(value: float, degrees: int, tail: float) -> None:
    """The approximation agrees with printed tables of χ² to about two digits."""
    assert chi_square_tail(value, degrees) == pytest.approx(tail, rel=0.08)


def test_an_even_spread() -> None:
    """Orders drawn at random over the shards are not called uneven."""
    draw = random.Random(5)
    counts = [0] * 16
    for _ in range(4_000):
        counts[draw.randrange(16)] += 1
    skew = skew_of(counts)

    assert skew is not None
    assert skew.p_value is not None
    assert skew.p_value > 0.01
    assert not skew.uneven


def test_one_shard_with_twice_its_share() -> None:
    """A shard with twice what the others have is uneven, by its factor and beyond chance."""
    skew = skew_of([200, 100, 100, 100])

    assert skew is not None
    assert skew.max_over_mean == pytest.approx(1.6)
    assert skew.chi_square == pytest.approx(60.0)
    assert skew.uneven


def test_a_small_difference_in_many_orders_does_not_matter() -> None:
    """With many orders chance explains nothing any more; a few percent are still not called uneven."""
    skew = skew_of([1_050_000, 1_000_000, 1_000_000, 1_000_000])

    assert skew is not None
    assert skew.p_value is not None
    assert skew.p_value < 1e-9
    assert not skew.uneven


def test_too_few_orders_are_not_tested() -> None:
    """Below five expected orders a shard there is no verdict."""
    skew = skew_of([9, 0, 0, 0])

    assert skew is not None
    assert skew.p_value is None
    assert not skew.uneven


@pytest.mark.parametrize("counts", [[], [7], [0, 0, 0]])
def test_nothing_to_compare(counts: list[int]) -> None:
    """One shard, or no orders, cannot be uneven."""
    assert skew_of(counts) is None
