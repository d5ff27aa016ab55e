"""The partition model reproduces what DynamoDB is documented to do."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from infra.model.capacity import OnDemand, Provisioned
from infra.model.item_size import write_units
from infra.model.limits import Assumptions, Limits
from infra.model.partition_model import Charge, PartitionModel
from infra.model.reasons import Operation

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
INDEX = TABLE + "/index/work"
US = 1_000_000

Charges = Callable[[int], list[Charge]]


def passed_per_s(
    model: PartitionModel, charges: Charges, *, offered_per_s: int, from_s: int, seconds: int
) -> list[int]:
    """Requests that pass in each second of an even load."""
    counts = []
    for second in range(from_s, from_s + seconds):
        passed = 0
        for i in range(offered_per_s):
            number = second * offered_per_s + i
            now_us = second * US + i * US // offered_per_s
            passed += model.attempt(charges(number), now_us).passed
        counts.append(passed)
    return counts


def one_key(units: float = 1, sort: Callable[[int], bytes] = lambda i: b"%020d" % i) -> Charges:
    """Writes of `units` to one partition key."""
    return lambda i: [Charge(TABLE, Operation.WRITE, b"hot", sort(i), units)]


def spread(keys: int = 4_000) -> Charges:
    """Writes to very many keys, in turn."""
    return lambda i: [Charge(TABLE, Operation.WRITE, b"k%d" % (i % keys))]


def random_sort(i: int) -> bytes:
    """A sort key without order, the same for the same number."""
    return random.Random(i).randbytes(8)


@pytest.mark.parametrize(
    ("size_bytes", "transactional", "expected"),
    [(1_024, False, 1_000), (1_127, False, 500), (1_024, True, 500)],
)
def test_one_key_passes_what_its_partition_can_write(size_bytes: int, transactional: bool, expected: int) -> None:
    """One key takes 1,000 units a second, so 500 writes of 1.1 KiB or in transactions."""
    model = PartitionModel()
    model.create_table(TABLE, OnDemand(warm_write_units=40_000))
    cost = write_units(size_bytes, transactional=transactional)
    rates = passed_per_s(model, one_key(cost), offered_per_s=1_500, from_s=0, seconds=4)
    assert rates[2:] == [expected, expected]


def test_the_write_after_the_thousandth_is_refused() -> None:
    """At steady state the ceiling is exact: 1,000 pass in a second and the next is refused."""
    model = PartitionModel()
    model.create_table(TABLE)
    assert all(model.attempt(one_key()(i), 0).passed for i in range(1_000))
    refused = model.attempt(one_key()(1_000), 0)
    assert not refused.passed
    assert [r.as_json() for r in refused.distinct()] == [
        {"reason": "TableWriteKeyRangeThroughputExceeded", "resource": TABLE}
    ]
    assert model.attempt(one_key()(1_001), 1_000).passed
    assert not model.attempt(one_key()(1_002), 1_000).passed


def test_one_key_of_a_warm_table_gains_nothing() -> None:
    """Warm throughput of 10,000 leaves one key at 1,000 a second."""
    model = PartitionModel()
    model.create_table(TABLE, OnDemand(warm_write_units=10_000))
    assert len(model.space(TABLE).partitions) == 10
    rates = passed_per_s(model, one_key(), offered_per_s=3_000, from_s=0, seconds=3)
    assert rates[1:] == [1_000, 1_000]


def test_an_index_with_one_key_holds_the_table_back() -> None:
    """Base keys over 16 partitions and one index key: 1,000 a second, refused with the index's ARN."""
    model = PartitionModel()
    model.create_table(
        TABLE,
        OnDemand(warm_write_units=16_000),
        indexes={INDEX: OnDemand(warm_write_units=16_000)},
    )

    def charges(i: int) -> list[Charge]:
        return [*spread()(i), Charge(INDEX, Operation.WRITE, b"all", b"%020d" % i)]

    rates = passed_per_s(model, charges, offered_per_s=6_000, from_s=0, seconds=3)
    assert rates[1:] == [1_000, 1_000]
    now_us = 3 * US
    verdicts = [model.attempt(charges(i), now_us) for i in range(1_200)]
    refused = next(v for v in verdicts if not v.passed)
    assert refused.reasons[0] == ()
    assert [r.as_json() for r in refused.distinct()] == [
        {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": INDEX}
    ]


def test_a_refused_request_consumes_nothing() -> None:
    """What the table had on hand is still there after the index refused."""
    model = PartitionModel()
    model.create_table(TABLE, indexes={INDEX: None})
    both = [Charge(TABLE, Operation.WRITE, b"a"), Charge(INDEX, Operation.WRITE, b"x", units=1_001)]
    assert model.attempt(both, 0).passed  # a debt on the index
    assert not model.attempt(both, 0).passed
    assert sum(model.attempt(both[:1], 0).passed for _ in range(1_500)) == 999


def test_a_fresh_table_takes_four_thousand_and_doubles_after_a_sustained_peak() -> None:
    """4,000/s from the start; 8,000/s only once 4,000 has been sustained."""
    assumed = Assumptions(peak_window_s=5)
    model = PartitionModel(assumed=assumed)
    model.create_table(TABLE)
    first = passed_per_s(model, spread(), offered_per_s=8_000, from_s=0, seconds=4)
    assert first[2:] == [4_000, 4_000]
    fresh = PartitionModel(assumed=assumed)
    fresh.create_table(TABLE)
    before = passed_per_s(fresh, spread(), offered_per_s=4_000, from_s=0, seconds=4)
    assert sum(before) >= 0.97 * 4 * 4_000
    assert fresh.space(TABLE).ready(Operation.WRITE) == 4_000
    passed_per_s(fresh, spread(), offered_per_s=4_000, from_s=4, seconds=2)
    assert fresh.space(TABLE).ready(Operation.WRITE) == pytest.approx(8_000, rel=0.03)
    after = passed_per_s(fresh, spread(), offered_per_s=8_000, from_s=6, seconds=3)
    assert after[-1] >= 0.95 * 8_000


def test_a_second_doubling_waits_half_an_hour() -> None:
    """More than twice the earlier peak is not granted within 30 minutes."""
    model = PartitionModel(Limits().scaled(0.01), Assumptions(peak_window_s=5))
    model.create_table(TABLE)
    passed_per_s(model, spread(), offered_per_s=80, from_s=0, seconds=40)
    assert model.space(TABLE).ready(Operation.WRITE) <= 80
    passed_per_s(model, spread(), offered_per_s=80, from_s=1_800, seconds=20)
    assert model.space(TABLE).ready(Operation.WRITE) > 100


def test_reads_have_a_ceiling_of_their_own_unless_told_otherwise() -> None:
    """3,000 reads pass beside 1,000 writes; on a shared budget they crowd each other out."""
    for shared, expected in ((False, 3_000), (True, 0)):
        model = PartitionModel(assumed=Assumptions(shared_partition_budget=shared))
        model.create_table(TABLE)
        writes = sum(model.attempt(one_key()(i), 0).passed for i in range(1_100))
        read = [Charge(TABLE, Operation.READ, b"hot", b"x", 1)]
        assert writes == 1_000
        assert sum(model.attempt(read, 0).passed for _ in range(3_100)) == expected


def test_the_table_quota_is_named_as_the_accounts_limit() -> None:
    """Beyond 40,000 units a second a spread load meets the quota, however warm the table is."""
    model = PartitionModel(Limits().scaled(0.1))
    model.create_table(TABLE, OnDemand(warm_write_units=10_000))
    verdicts = [model.attempt(spread()(i), 0) for i in range(4_100)]
    reasons = {r.reason for v in verdicts for r in v.distinct()}
    assert "TableWriteAccountLimitExceeded" in reasons
    assert sum(v.passed for v in verdicts) <= 4_000


def test_the_users_own_maximum_is_named() -> None:
    """A maximum set on the table refuses with its own reason."""
    model = PartitionModel()
    model.create_table(TABLE, OnDemand(max_write_units=10))
    verdicts = [model.attempt(spread()(i), 0) for i in range(11)]
    assert [v.passed for v in verdicts] == [True] * 10 + [False]
    assert verdicts[-1].distinct()[0].reason == "TableWriteMaxOnDemandThroughputExceeded"


def test_burst_is_saved_for_five_minutes_and_stays_below_the_partitions_ceiling() -> None:
    """A provisioned table saves 300 s of what it did not use; one key still gets 1,000 a second."""
    model = PartitionModel()
    model.create_table(TABLE, Provisioned(write_units=100, read_units=100))
    after_us = 3_600 * US
    rates = passed_per_s(model, one_key(), offered_per_s=1_500, from_s=3_600, seconds=40)
    assert rates[3:30] == [1_000] * 27
    assert sum(rates) == pytest.approx(300 * 100 + 40 * 100, abs=200)
    refused = model.attempt(one_key(200)(0), after_us + 40 * US)
    assert "TableWriteProvisionedThroughputExceeded" in {r.reason for r in refused.distinct()}


@pytest.mark.parametrize(("adaptive", "expected"), [(True, 400), (False, 100)])
def test_adaptive_capacity_lends_a_hot_partition_its_neighbours_share(adaptive: bool, expected: int) -> None:
    """One hot key of a table of 400 units over 4 partitions gets all of it, or a quarter."""
    assumed = Assumptions(adaptive_capacity=adaptive, burst_share=0)
    model = PartitionModel(assumed=assumed)
    model.create_table(TABLE, Provisioned(write_units=400, read_units=400, warm_write_units=4_000))
    assert len(model.space(TABLE).partitions) == 4
    rates = passed_per_s(model, one_key(), offered_per_s=800, from_s=0, seconds=4)
    assert rates[2:] == [expected, expected]


HOT = Assumptions(heat_sustained_s=20, heat_window_s=5)


def hot_key_rate(sort: Callable[[int], bytes], *, has_local_index: bool = False) -> int:
    """Writes a second on one key after a minute of overload, at a tenth of DynamoDB's size."""
    model = PartitionModel(Limits().scaled(0.1), HOT)
    model.create_table(TABLE, has_local_index=has_local_index)
    return passed_per_s(model, one_key(sort=sort), offered_per_s=300, from_s=0, seconds=60)[-1]


def test_a_hot_item_collection_with_random_sort_keys_is_split() -> None:
    """Minutes of heat cut an item collection by its sort key, so it gains."""
    assert hot_key_rate(random_sort) >= 180


def test_rising_sort_keys_never_gain_from_a_split() -> None:
    """New keys always land above the cut, so the collection stays at one partition's ceiling."""
    assert hot_key_rate(lambda i: b"%020d" % i) == 100


def test_a_single_item_never_gains_from_a_split() -> None:
    """One item can never exceed its partition."""
    assert hot_key_rate(lambda _: b"same") == 100


def test_a_local_secondary_index_keeps_an_item_collection_whole() -> None:
    """With a local secondary index a collection is never cut."""
    assert hot_key_rate(random_sort, has_local_index=True) == 100


def test_two_hot_keys_of_one_partition_part_even_with_a_local_index() -> None:
    """A cut between two item collections is always allowed."""
    model = PartitionModel(Limits().scaled(0.1), HOT)
    model.create_table(TABLE, has_local_index=True)
    space = model.space(TABLE)
    by_home: dict[int, list[bytes]] = {}
    for number in itertools.count():
        key = b"key%d" % number
        model.attempt([Charge(TABLE, Operation.WRITE, key)], 0)
        home = by_home.setdefault(id(partition_of(model, key)), [])
        home.append(key)
        if len(home) == 2:
            break
    rates = passed_per_s(
        model,
        lambda i: [Charge(TABLE, Operation.WRITE, home[i % 2], random_sort(i))],
        offered_per_s=300,
        from_s=0,
        seconds=60,
    )
    assert len(space.partitions) == 5
    assert rates[-1] == 200


def partition_of(model: PartitionModel, key: bytes) -> object:
    """The partition that holds a key's item collection."""
    space = model.space(TABLE)
    return space.partition_at((space.hash_of(key), b""))


def test_a_partition_of_ten_gigabytes_splits() -> None:
    """Size splits a partition without any heat."""
    model = PartitionModel()
    model.create_table(TABLE)
    item = 400 * 1024
    for i in range(4 * 27_000):
        charge = Charge(TABLE, Operation.WRITE, b"k%d" % i, units=0.5, added_bytes=item)
        model.attempt([charge], i * US)
    partitions = model.space(TABLE).partitions
    assert len(partitions) > 4
    assert max(p.size_bytes for p in partitions) <= Limits().partition_max_bytes


def test_a_counter_transaction_on_one_key_lets_a_quarter_of_the_joins_through() -> None:
    """The opening burst of a game kept on one key: 271 and 273 of 1,000 were published."""
    model = PartitionModel()
    model.create_table(TABLE)
    joins = 0
    for i in range(1_000):
        counter = Charge(TABLE, Operation.WRITE, b"game", b"counter", 2)
        player = Charge(TABLE, Operation.WRITE, b"game", b"player%d" % i, 2)
        joins += model.attempt([counter, player], i * 90).passed
    assert 250 <= joins <= 275
