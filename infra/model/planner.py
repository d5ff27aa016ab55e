"""From a sale to a layout: shards against partitions, warm throughput, slices, quotas, cost."""

from __future__ import annotations

import math

from infra.model.aggregate import simulate_flows
from infra.model.capacity import partitions_for
from infra.model.demand import Demand, demand_of, slices_for
from infra.model.forecast import calculated_rates, forecast, scenario_of, span_of
from infra.model.plan_request import Choice, Layout, Plan, PlanRequest
from infra.model.retry_rules import our_rules
from infra.model.sale_cost import cost_parts_usd, drain_s, provisioned_concurrency, shards_usd, warm_usd

_MOST_SHARDS = 2**17
_RULE_OF_THUMB_PER_S = 800
_LAMBDA_ACCOUNT_CONCURRENCY = 1_000
_GATEWAY_RPS = 10_000
_PREVIEW_S = 10.0


def plan(request: PlanRequest) -> Plan:
    """The cheapest layout whose throttle rate stays within the target, and all that goes with it.

    Throttle rates of the two alternatives (one key; one key per 800 writes a second) assume the same
    warm throughput, so that the keys alone make the difference.
    """
    demand = demand_of(request)
    layout = choose_layout(request)
    own = _choice("plan", request, layout, demand)
    rule = math.ceil(request.peak_per_s / _RULE_OF_THUMB_PER_S)
    others = [("one key", 1), ("peak / 800", rule)]
    alternatives = tuple(
        _choice(name, request, Layout(keys, layout.partitions, layout.partitions_index), demand)
        for name, keys in others
    )
    ceiling = request.limits.partition_write_units
    parts = cost_parts_usd(request, layout, demand)
    polls_per_s = request.poll_share * request.peak_per_s
    return Plan(
        shards=layout.shards,
        partitions=layout.partitions,
        partitions_index=layout.partitions_index,
        warm_write_units_table=math.ceil(layout.partitions * ceiling),
        warm_write_units_index=math.ceil(layout.partitions_index * ceiling),
        slices=slices_for(request),
        throttle_rate=own.forecast.rate,
        throttle_rate_low=own.forecast.low,
        throttle_rate_high=own.forecast.high,
        accept_delay_ms_mean=own.accept_delay_ms_mean,
        accept_delay_ms_p99=own.accept_delay_ms_p99,
        cost_usd=round(sum(parts.values()), 2),
        cost_parts_usd={name: round(usd, 2) for name, usd in parts.items()},
        drain_s=round(drain_s(request, demand), 1),
        poll_after_s=round(max(2.0, request.orders / polls_per_s), 1) if polls_per_s else 0.0,
        workers=_workers(request, layout, demand),
        provisioned_concurrency=provisioned_concurrency(request),
        api_rps_quota=math.ceil(request.peak_per_s + polls_per_s + request.reads_per_s),
        quotas_to_raise=_quotas_to_raise(request, layout, polls_per_s),
        alternatives=(*alternatives, own),
    )


def choose_layout(request: PlanRequest) -> Layout:
    """Over powers of two of shards, the cheapest with as few partitions as the target allows.

    More shards lie more evenly and so need fewer partitions, but each is looked at all through the sale:
    at the peak a look should find `orders_per_look` orders, unless only more shards meet the target.
    """
    demand = demand_of(request)
    fewest = max(1, math.ceil(request.peak_per_s / request.limits.partition_write_units))
    most = max(fewest, request.peak_per_s * request.shard_poll_s / request.orders_per_look)
    shards = 2 ** max(0, math.ceil(math.log2(fewest)))
    best: tuple[float, Layout] | None = None
    while shards <= most or best is None:
        layout = _fewest_partitions(request, shards, demand)
        if layout is not None:
            usd = warm_usd(request, layout) + shards_usd(request, layout, demand)
            if best is None or usd < best[0]:
                best = (usd, layout)
        shards *= 2
        if shards > _MOST_SHARDS and best is None:
            raise ValueError("No layout keeps the throttle rate within the target: plan for a lower peak.")
    return best[1]


def _fewest_partitions(request: PlanRequest, shards: int, demand: Demand) -> Layout | None:
    """The smallest spread factor, common to table and index, that meets the target; none if none does."""

    def layout_at(spread: float) -> Layout:
        units = (demand.table_units_per_s * spread, demand.index_units_per_s * spread)
        fresh = partitions_for(request.limits.new_table_write_units, 0, request.limits)
        table, index = (max(fresh, partitions_for(side, 0, request.limits)) for side in units)
        return Layout(shards, table, index)

    def good(layout: Layout) -> bool:
        return span_of(calculated_rates(request, layout)).high <= request.target

    low, high = 1.0, 8.0
    if not good(layout_at(high)):
        return None
    while high - low > 0.02 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if good(layout_at(middle)) else (middle, high)
    return layout_at(high)


def _choice(name: str, request: PlanRequest, layout: Layout, demand: Demand) -> Choice:
    usd = sum(cost_parts_usd(request, layout, demand).values())
    run = simulate_flows(scenario_of(request, layout, request.seed, min(_PREVIEW_S, request.duration_s)))
    mean_s, p99_s = run.retry_delay_s(our_rules(request.processes))
    return Choice(
        name,
        layout,
        forecast(request, layout),
        cost_usd=round(usd, 2),
        accepted_share=round(run.accepted_share, 4),
        accept_delay_ms_mean=round(1_000 * mean_s, 3),
        accept_delay_ms_p99=round(1_000 * p99_s, 3),
    )


def _workers(request: PlanRequest, layout: Layout, demand: Demand) -> int:
    """Worker cores: to look at every shard as often as asked, and to settle at the planned pace."""
    looking = layout.shards / request.shard_poll_s / request.queries_per_core_s
    return max(1, math.ceil(looking + demand.settle_per_s / request.writes_per_core_s))


def _quotas_to_raise(request: PlanRequest, layout: Layout, polls_per_s: float) -> dict[str, float]:
    """Defaults that the plan exceeds, with the value to ask AWS for."""
    ceiling, quota = request.limits.partition_write_units, request.limits.table_quota_write_units
    wanted = {
        "table_write_units": (layout.partitions * ceiling, quota),
        "index_write_units": (layout.partitions_index * ceiling, quota),
        "table_read_units": (polls_per_s + request.reads_per_s, request.limits.table_quota_read_units),
        "lambda_concurrency": (provisioned_concurrency(request), _LAMBDA_ACCOUNT_CONCURRENCY),
        "api_gateway_rps": (math.ceil(request.peak_per_s + polls_per_s + request.reads_per_s), _GATEWAY_RPS),
    }
    return {name: need for name, (need, default) in wanted.items() if need > default}
