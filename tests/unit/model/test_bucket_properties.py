"""Token buckets lose nothing, invent nothing, and a refused request leaves no trace."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.bucket import PICO_PER_UNIT, TokenBucket, to_pico
from infra.model.capacity import OnDemand, Provisioned
from infra.model.limits import Limits
from infra.model.partition_model import Charge, PartitionModel
from infra.model.position import sortable_number
from infra.model.reasons import Operation

US = 1_000_000
steps = st.lists(st.tuples(st.integers(0, 3 * US), st.integers(1, 50).map(lambda n: n / 2)), min_size=1, max_size=60)


@given(steps, st.integers(1, 2_000), st.integers(1, 2_000))
def test_what_passes_never_exceeds_depth_plus_rate_times_time(
    requests: list[tuple[int, float]], rate: int, depth: int
) -> None:
    """Over any span the passed units are at most the depth, the refill, and one last oversized cost."""
    bucket, now_us, passed, largest = TokenBucket(rate, depth), 0, 0, 0
    for gap_us, units in requests:
        now_us += gap_us
        if bucket.has(to_pico(units), now_us):
            bucket.take(to_pico(units))
            passed += to_pico(units)
            largest = max(largest, to_pico(units))
    allowance = depth * PICO_PER_UNIT + rate * now_us * 10**6
    assert passed <= allowance + max(0, largest - depth * PICO_PER_UNIT)


@given(steps, st.integers(1, 2_000), st.integers(1, 2_000))
def test_a_refusal_means_the_tokens_were_missing(requests: list[tuple[int, float]], rate: int, depth: int) -> None:
    """A cost is refused only below its amount and below a full bucket, and passes once the wait is over."""
    bucket, now_us = TokenBucket(rate, depth), 0
    for gap_us, units in requests:
        now_us += gap_us
        pico = to_pico(units)
        level = bucket.level(now_us)
        if bucket.has(pico, now_us):
            bucket.take(pico)
            continue
        assert level < min(pico, depth * PICO_PER_UNIT)
        wait_us = bucket.fill_time_us(pico, now_us)
        assert not bucket.copy_at(now_us).has(pico, now_us + wait_us - 1)
        assert bucket.copy_at(now_us).has(pico, now_us + wait_us)


@given(st.lists(st.integers(0, US), min_size=2, max_size=40))
def test_the_number_of_refills_changes_nothing(gaps: list[int]) -> None:
    """Looking often and looking once give the same level, to the last pico-unit."""
    often, once = TokenBucket(7, 1_000, level_units=0), TokenBucket(7, 1_000, level_units=0)
    now_us = 0
    for gap in gaps:
        now_us += gap
        often.level(now_us)
    assert often.level(now_us) == once.level(now_us)


charges = st.builds(
    Charge,
    resource=st.sampled_from(["table", "index"]),
    operation=st.sampled_from(list(Operation)),
    partition_key=st.sampled_from([b"a", b"b", b"c", b"d"]),
    sort_key=st.sampled_from([b"", b"1", b"2"]),
    units=st.integers(1, 40).map(lambda n: n / 2),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 400_000), st.lists(charges, min_size=1, max_size=6)), max_size=60))
def test_refused_requests_leave_no_trace(requests: list[tuple[int, list[Charge]]]) -> None:
    """Replaying only the requests that passed gives the same answers: a refusal consumed nothing."""
    full, replay = _small_model(), _small_model()
    now_us = 0
    for gap_us, batch in requests:
        now_us += gap_us
        if full.attempt(batch, now_us).passed:
            assert replay.attempt(batch, now_us).passed


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 400_000), st.lists(charges, min_size=1, max_size=6)), max_size=60))
def test_units_are_conserved_over_partitions_and_table(requests: list[tuple[int, list[Charge]]]) -> None:
    """No partition and no table serves more than its tokens, whatever is asked of it."""
    model, now_us = _small_model(), 0
    served: dict[tuple[str, Operation], float] = {}
    for gap_us, batch in requests:
        now_us += gap_us
        if model.attempt(batch, now_us).passed:
            for charge in batch:
                key = (charge.resource, charge.operation)
                served[key] = served.get(key, 0) + charge.units
    seconds, oversized = now_us / US, 20
    for (resource, operation), units in served.items():
        ceiling = 10 if operation is Operation.WRITE else 30
        partitions = len(model.space(resource).partitions)
        assert units <= partitions * (ceiling * (1 + seconds) + oversized)
        if resource == "table":
            assert units <= 20 * (1 + seconds) + oversized


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(-(10**9), 10**9))
def test_numbers_sort_as_numbers(left: object, right: int) -> None:
    """The byte form of a numeric sort key keeps the order of numbers."""
    assert (sortable_number(str(left)) < sortable_number(str(right))) == (left < right)  # type: ignore[operator]


def _small_model() -> PartitionModel:
    model = PartitionModel(Limits().scaled(0.01))
    model.create_table("table", Provisioned(20, 20), indexes={"index": OnDemand(warm_write_units=20)})
    return model
