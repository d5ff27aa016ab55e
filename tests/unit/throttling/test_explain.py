"""A throttle in a sentence."""

from __future__ import annotations

import pytest

from shared.domain.stats.shard_advice import HEADROOM, MIN_PARTITIONS, ceiling_units_per_s, fewest_shards
from shared.domain.throttling.explain import explain
from shared.domain.throttling.report import Demand
from shared.domain.throttling.request import event_of, read_resource, safe_place

BUSY = Demand({1: 2_400.0, 2: 9_000.0}, frozenset({1}))


def test_before_a_scaled_wall_its_limits_are_named() -> None:
    """At a twentieth of the size one shard carries 50 write units, and 60 are too many."""
    key = ("orders", "", "PutItem", "gig#0", "TableWriteKeyRangeThroughputExceeded")
    demand = Demand({7: 60.0}, frozenset({7}))

    scaled, full = explain(key, demand, shards=1, scale=0.05), explain(key, demand, shards=1)
    read = explain(
        ("orders", "work", "Query", "gig#0", "IndexReadKeyRangeThroughputExceeded"), demand, shards=1, scale=0.05
    )

    assert "the partition's 50 write units a second" in scaled.sentence
    assert scaled.more_shards == fewest_shards(60 * HEADROOM / 0.05, MIN_PARTITIONS) - 1  # type: ignore[operator]
    assert scaled.more_shards > 0
    assert "the partition's 1,000 write units a second" in full.sentence
    assert full.more_shards == 0
    assert "the partition's 150 read units a second" in read.sentence


def test_a_hot_key_range_is_named_with_the_shards_that_would_have_carried_it() -> None:
    """Key, limit, demand of a second in which something was refused, and how many shards more."""
    found = explain(("orders", "", "PutItem", "gig#0", "TableWriteKeyRangeThroughputExceeded"), BUSY, shards=1)

    assert found.more_shards == 127
    assert ceiling_units_per_s(128, 4) >= 2_400 * 1.25 > ceiling_units_per_s(64, 4)
    assert found.sentence == (
        "PutItem at key gig#0 was refused: the partition's 1,000 write units a second in table orders were used up. "
        "gig asked for 2,400 write units in that second over 1 shards; 127 more shards (128 in all) would have avoided "
        "it."
    )


def test_what_no_shard_count_carries_is_said() -> None:
    """Four partitions take 4,000 units however they are hit."""
    demand = Demand({1: 50_000.0}, frozenset({1}))
    found = explain(("orders", "", "PutItem", "gig#0", "TableWriteKeyRangeThroughputExceeded"), demand, shards=64)

    assert found.more_shards is None
    assert "warm the table up" in found.sentence


def test_enough_shards_point_to_one_hot_key() -> None:
    """When the shards there are would carry the demand, more of them are no cure."""
    found = explain(("orders", "", "PutItem", "gig#0", "TableWriteKeyRangeThroughputExceeded"), BUSY, shards=128)

    assert found.more_shards == 0
    assert "one hot key" in found.sentence


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (("orders", "", "PutItem", "gig#1", "TableWriteAccountLimitExceeded"), "account's quota"),
        (("orders", "work", "PutItem", "gig#1", "IndexWriteMaxOnDemandThroughputExceeded"), "index work itself"),
        (("orders", "", "PutItem", "gig#1", "TableWriteProvisionedThroughputExceeded"), "provisioned"),
        (("inventory", "", "TransactWriteItems", "gig#floor#0", "ThrottlingError"), "more slices would have in gig"),
        (("orders", "work", "Query", "gig#1", "IndexReadKeyRangeThroughputExceeded"), "3,000 read units"),
        (("inventory", "", "BatchGetItem", "several", "UnprocessedKeys"), "keys were left unread"),
        (("orders", "", "PutItem", "gig#1", ""), "no reason"),
    ],
)
def test_every_limit_has_its_own_cure(key: tuple[str, str, str, str, str], words: str) -> None:
    """No number of shards is named where shards do not help."""
    found = explain(key, Demand(), shards=4)

    assert words in found.sentence
    assert found.more_shards is None


def test_a_place_never_names_a_buyer() -> None:
    """Counters of buyers are keyed by the token's subject, which is nobody's business."""
    assert safe_place("gig#buyer/ann@example.org#7") == "gig#buyer"
    assert safe_place("gig#floor#0") == "gig#floor#0"


@pytest.mark.parametrize(
    ("place", "event_id"), [("gig#3", "gig"), ("gig/floor/0", "gig"), ("sale#gig", "gig"), ("several", ""), ("x", "")]
)
def test_a_place_tells_its_event(place: str, event_id: str) -> None:
    """Whatever the table."""
    assert event_of(place) == event_id


@pytest.mark.parametrize(
    ("resource", "found"),
    [
        ("arn:aws:dynamodb:eu-west-1:1:table/onsale-local-orders/index/work", ("orders", "work")),
        ("arn:aws:dynamodb:eu-west-1:1:table/onsale-local-orders", ("orders", "")),
        ("table/onsale-orders/index/work", ("orders", "work")),
        ("onsale-local-inventory", ("inventory", "")),
        ("", None),
        ("arn:aws:dynamodb:eu-west-1:1:something", None),
    ],
)
def test_a_resource_is_read(resource: str, found: tuple[str, str] | None) -> None:
    """Table without its prefix, and the index."""
    assert read_resource(resource) == found
