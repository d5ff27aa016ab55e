"""The aggregate simulation agrees with the one that follows every request."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from infra.model.aggregate import simulate_flows
from infra.model.capacity import OnDemand
from infra.model.flow_budget import FlowBudget
from infra.model.limits import Assumptions, Limits
from infra.model.load import (
    KeyGroup,
    bots_on_one_key,
    bursts,
    calculated_suffixes,
    opening,
    ramp,
    random_suffixes,
    several_events,
    step,
    time_buckets,
)
from infra.model.per_request import simulate_requests
from infra.model.retry_rules import no_retries, our_rules, sdk_rules
from infra.model.scenario import Outcome, Scenario

PEAK = 135_000
WARM = OnDemand(warm_write_units=PEAK)
RULE_OF_THUMB = Scenario(
    arrivals=step(PEAK, 6),
    groups=(random_suffixes("event", 169),),
    table=WARM,
    index=WARM,
    limits=Limits(table_quota_write_units=400_000),
    returns=3,
)
SPREAD = replace(RULE_OF_THUMB, groups=(random_suffixes("event", 1_000),))


def figures(outcomes: list[Outcome]) -> tuple[float, float]:
    """(share of buyers who got through, share of requests throttled) over several runs."""
    arrivals, accepted, attempts, throttled = (
        sum(float(getattr(outcome, name).sum()) for outcome in outcomes)
        for name in ("arrivals", "accepted", "attempts", "throttled")
    )
    return accepted / arrivals, throttled / attempts


def test_flows_agree_with_single_requests_on_twenty_seeds() -> None:
    """At 1/100 scale, with retries and returning clients, both agree within 2 % over 20 seeds."""
    exact, flows = [], []
    for seed in range(20):
        scenario = replace(RULE_OF_THUMB, seed=seed).scaled(0.01)
        exact.append(simulate_requests(scenario))
        flows.append(simulate_flows(scenario))
        # Each run draws its own arrivals, which alone makes about 1 % of difference on a single seed.
        assert flows[-1].accepted.sum() == pytest.approx(exact[-1].accepted.sum(), rel=0.04)
    for name in ("accepted", "attempts", "throttled"):
        totals = [sum(float(getattr(outcome, name).sum()) for outcome in runs) for runs in (flows, exact)]
        assert totals[0] == pytest.approx(totals[1], rel=0.02)
    assert figures(flows) == pytest.approx(figures(exact), rel=0.02)
    assert figures(exact)[1] > 0.5


SHAPES = {
    "sdk": replace(RULE_OF_THUMB, retries=sdk_rules(clients=20)),
    "no retries": replace(RULE_OF_THUMB, retries=no_retries(), returns=0),
    "no index": replace(RULE_OF_THUMB, index=None),
    "one key": replace(RULE_OF_THUMB, groups=(random_suffixes("event", 1),)),
    "ramp": replace(RULE_OF_THUMB, arrivals=ramp(20, PEAK, 6, 10)),
    "bursts": replace(RULE_OF_THUMB, arrivals=bursts(PEAK / 3, 4, 3, 1, 10, seed=1)),
    "bots": replace(SPREAD, groups=bots_on_one_key("event", 1_000, 0.2)),
    "several events": replace(SPREAD, groups=several_events("event", 100, (0.6, 0.3, 0.1))),
    "time buckets": replace(SPREAD, groups=(time_buckets("event", 10, 4.0),)),
    "calculated suffixes": replace(SPREAD, groups=(calculated_suffixes("event", 1_000, 60, seed=2),)),
    "quota": replace(SPREAD, limits=Limits()),
    "door": replace(SPREAD, arrivals=opening(200_000, 1, PEAK / 4, 8), accept_per_s=PEAK / 3, returns=20),
}


@pytest.mark.parametrize("name", SHAPES)
def test_flows_agree_for_every_shape_of_load(name: str) -> None:
    """Arrivals, keys, retry rules and the door: one row each, summed over two seeds."""
    scenarios = [replace(SHAPES[name], seed=seed).scaled(0.01) for seed in range(2)]
    exact = figures([simulate_requests(scenario) for scenario in scenarios])
    flows = figures([simulate_flows(scenario) for scenario in scenarios])
    assert flows[0] == pytest.approx(exact[0], rel=0.03)
    # At 1/100 a partition's bucket holds ten requests: single ones count where next to nothing is throttled.
    assert flows[1] == pytest.approx(exact[1], rel=0.02, abs=0.01)


def test_splits_for_heat_and_growth_appear_in_both() -> None:
    """Two hot keys gain from splits, a fresh table from its peak, alike in both simulations."""
    assumed = Assumptions(heat_sustained_s=15, heat_window_s=5, heat_samples=60, peak_window_s=10)
    hot = replace(
        RULE_OF_THUMB,
        arrivals=step(4_000, 60),
        table=OnDemand(warm_write_units=8_000),
        index=None,
        groups=(random_suffixes("event", 2),),
        assumed=assumed,
    )
    fresh = replace(hot, arrivals=step(6_000, 40), table=OnDemand(), groups=(random_suffixes("event", 300),))
    for scenario in (hot, fresh):
        exact, flows = (run(scenario.scaled(0.05)) for run in (simulate_requests, simulate_flows))
        assert flows.accepted_share == pytest.approx(exact.accepted_share, rel=0.05)
        assert len(flows.heat) == pytest.approx(len(exact.heat), abs=3)
    without = replace(hot, assumed=replace(assumed, heat_sustained_s=1e9))
    assert simulate_flows(hot).accepted.sum() > 1.2 * simulate_flows(without).accepted.sum()


@pytest.mark.parametrize("run", [simulate_requests, simulate_flows])
def test_a_door_refuses_before_the_wall_and_lets_everybody_in_later(run: object) -> None:
    """200,000 at once before a door of 40,000/s: no throttle, and all get through in the end."""
    scenario = replace(
        SPREAD,
        arrivals=opening(200_000, 1, 0, 12),
        accept_per_s=40_000,
        returns=10,
        groups=(random_suffixes("event", 2_000),),
        table=OnDemand(warm_write_units=200_000),
        index=OnDemand(warm_write_units=200_000),
    ).scaled(0.05)
    outcome = run(scenario)  # type: ignore[operator]
    assert outcome.refused_at_door.sum() > 0.5 * outcome.arrivals.sum()
    assert outcome.accepted_share == pytest.approx(1.0, abs=1e-6)
    assert outcome.throttle_rate < 0.001
    per_s = scenario.accept_per_s or 0
    seconds = np.arange(1, len(outcome.accepted) + 1)
    assert np.all(outcome.accepted.cumsum() <= per_s * (seconds + 1) * 1.001)


def test_a_budget_per_shard_spares_the_other_shards() -> None:
    """One hot key eats the budget that the SDK shares over all keys; with a budget per shard it eats its own."""
    wanted = np.array([1_000_000.0, 1.0])
    assert FlowBudget(our_rules(), 2).spend(wanted)[1] == 1.0
    assert FlowBudget(sdk_rules(clients=10), 2).spend(wanted)[1] < 0.01


def test_sdk_retries_delay_what_they_rescue_far_more_than_ours() -> None:
    """The SDK waits up to a second before its first retry of a throttle, our rules 20 ms."""
    ours, sdk = replace(SPREAD, retries=our_rules(100)), replace(SPREAD, retries=sdk_rules(100))
    assert simulate_flows(sdk).retry_delay_s(sdk.retries)[1] > 2 * simulate_flows(ours).retry_delay_s(ours.retries)[1]


def test_every_buyer_is_counted_once() -> None:
    """Arrivals end as accepted or given up, requests as accepted or throttled, in every second."""
    for run in (simulate_requests, simulate_flows):
        outcome = run(replace(RULE_OF_THUMB, arrivals=step(PEAK, 3)).scaled(0.01))
        assert outcome.arrivals.sum() == pytest.approx(outcome.accepted.sum() + outcome.gave_up)
        assert np.allclose(outcome.attempts, outcome.accepted + outcome.throttled)
        assert sum(outcome.accepted_by_try) == pytest.approx(outcome.accepted.sum())


def test_the_shares_of_every_load_sum_to_one() -> None:
    """A load's keys together carry all of it."""
    loads: list[tuple[KeyGroup, ...]] = [
        (random_suffixes("a", 7),),
        bots_on_one_key("a", 7, 0.3),
        several_events("a", 7, (0.5, 0.5)),
        (calculated_suffixes("a", 7, 20, 1),),
        (time_buckets("a", 3, 1.0),),
    ]
    for groups in loads:
        assert sum(group.share * sum(group.weights) for group in groups) == pytest.approx(1.0)
