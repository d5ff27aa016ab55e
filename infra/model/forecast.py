"""How often a layout will be throttled, before anybody has bought anything."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from infra.model.aggregate import simulate_flows
from infra.model.capacity import OnDemand
from infra.model.demand import demand_of
from infra.model.load import random_suffixes, step
from infra.model.plan_request import Forecast, Layout, PlanRequest
from infra.model.retry_rules import our_rules
from infra.model.scenario import Floats, Scenario

_DRAWS = 400
_FEWEST_DRAWS = 100
_COUNTS_AT_MOST = 250_000
_SIMULATED_DRAWS = 8
_SIMULATED_S = 10.0
_SIMULATED_TICK_S = 0.1
_MANY = 0.01
"""Above this share of throttled requests retries feed on each other: it is simulated, not calculated."""
_LOW, _HIGH = 0.005, 0.995
_NOTHING = 1e-12
_PEAK_STREAM = 77


def scenario_of(request: PlanRequest, layout: Layout, seed: int, duration_s: float) -> Scenario:
    """The sale's peak on a layout, door and workers together; the seed draws placement and peak.

    Quotas count as raised to what the layout needs.
    """
    demand = demand_of(request)
    factor = math.exp(np.random.default_rng([seed, _PEAK_STREAM]).normal(0.0, request.peak_error))
    ceiling = request.limits.partition_write_units
    return Scenario(
        arrivals=step(demand.requests_per_s * factor, duration_s),
        groups=(random_suffixes("event", layout.shards),),
        table=OnDemand(warm_write_units=layout.partitions * ceiling),
        index=OnDemand(warm_write_units=layout.partitions_index * ceiling),
        write_units=demand.table_units_per_s / demand.requests_per_s,
        index_units=demand.index_units_per_s / demand.requests_per_s,
        limits=replace(
            request.limits, table_quota_write_units=10 * max(demand.table_units_per_s, demand.index_units_per_s)
        ),
        assumed=request.assumed,
        retries=our_rules(request.processes),
        seed=seed,
    )


def forecast(request: PlanRequest, layout: Layout, draws: int = _DRAWS) -> Forecast:
    """Throttle rate of a layout over random placements of its keys and the peak's own error.

    Calculated while few requests are refused; otherwise simulated under our retry rules.
    """
    rates = calculated_rates(request, layout, draws)
    if float(rates.mean()) > _MANY:
        seeds = range(request.seed, request.seed + _SIMULATED_DRAWS)
        duration_s = min(_SIMULATED_S, request.duration_s)
        runs = [simulate_flows(scenario_of(request, layout, seed, duration_s), _SIMULATED_TICK_S) for seed in seeds]
        rates = np.array([run.throttle_rate for run in runs])
        return Forecast(float(rates.mean()), float(rates.min()), float(rates.max()))
    return span_of(rates)


def span_of(rates: Floats) -> Forecast:
    """Mean of the draws and the span of 99 in 100; a mean that rare draws lift above the span widens it."""
    rates = np.where(rates < _NOTHING, 0.0, rates)
    low, high = np.quantile(rates, [_LOW, _HIGH], method="higher")
    mean = float(rates.mean())
    return Forecast(mean, min(float(low), mean), max(float(high), mean))


def calculated_rates(request: PlanRequest, layout: Layout, draws: int = _DRAWS) -> Floats:
    """One throttle rate per draw: keys fall into partitions, each loses what its bucket cannot hold."""
    draws = max(_FEWEST_DRAWS, min(draws, _COUNTS_AT_MOST // max(layout.partitions, layout.partitions_index)))
    rng = np.random.default_rng([request.seed, layout.shards, layout.partitions, layout.partitions_index])
    demand = demand_of(request)
    factors = _peak_factors(request, rng, draws)
    refused = np.zeros(draws)
    sides = ((demand.table_units_per_s, layout.partitions), (demand.index_units_per_s, layout.partitions_index))
    for units_per_s, partitions in sides:
        counts = rng.multinomial(layout.shards, np.full(partitions, 1 / partitions), size=draws)
        load = counts * (units_per_s / layout.shards * factors[:, None])
        unit = units_per_s / demand.requests_per_s
        lost_per_s = lost_units_per_s(load, request, unit) / unit
        refused += _refusals_per_s(lost_per_s, counts, request, unit).sum(axis=1)
    return refused / (demand.requests_per_s * factors + refused)


def _peak_factors(request: PlanRequest, rng: np.random.Generator, draws: int) -> Floats:
    """How far the real peak lies from the planned one: one factor from each equal slice of probability."""
    normal = NormalDist(0.0, request.peak_error) if request.peak_error else None
    slices = [(i + 0.5) / draws for i in range(draws)]
    factors = np.exp([0.0 if normal is None else normal.inv_cdf(p) for p in slices])
    return np.asarray(rng.permutation(factors), dtype=np.float64)


def lost_units_per_s(load: Floats, request: PlanRequest, unit: float) -> Floats:
    """Units a second that a partition refuses under Poisson arrivals of `load` units a second.

    The tokens missing from the bucket are a random walk between 0 and the depth, with the drift of load
    less ceiling; what it loses at the upper end is known in closed form (reflected Brownian motion).
    A bucket that starts full first lends its depth to the peak's whole duration.
    """
    ceiling = request.limits.partition_write_units
    depth = ceiling * request.assumed.partition_bucket_s
    spare = ceiling - load
    exponent = np.clip(2 * spare * depth / (np.maximum(load, 1e-9) * unit), -700, 700)
    near = np.abs(exponent) < 1e-6  # noqa: PLR2004 - at the ceiling itself the quotient is 0 / 0
    loss = np.where(near, load * unit / (2 * depth), spare / np.where(near, 1.0, np.expm1(exponent)))
    return np.where(load > ceiling, np.maximum(0.0, loss - depth / request.duration_s), loss)


def _refusals_per_s(lost_per_s: Floats, shards: NDArray[np.int64], request: PlanRequest, unit: float) -> Floats:
    """Refused requests of each partition when `lost_per_s` buyers a second find no room in it.

    Each comes back as often as it may and is refused again; retries in between last as long as the
    partition's shards have a budget for them.
    """
    rules, habits = our_rules(request.processes), Scenario(arrivals=step(1, 1), groups=())
    between_s = sum(habits.return_after_s) / 2
    visits = lost_per_s * (1 + min(habits.returns, request.duration_s / between_s))
    earned_per_s = rules.success_refund * request.limits.partition_write_units / unit
    budgets_per_s = rules.clients * (rules.budget / request.duration_s + rules.refill_per_s)
    affordable_per_s = shards * budgets_per_s + earned_per_s
    retried = np.minimum((rules.attempts - 1) * visits, affordable_per_s)
    return np.asarray(visits + retried, dtype=np.float64)
