"""What a sale costs in dollars, part by part."""

from __future__ import annotations

import math

from infra.model.demand import Demand, order_units
from infra.model.plan_request import Layout, PlanRequest

_MILLION = 1_000_000
_HOUR_S = 3_600
_LAMBDA_RPS = 10
"""Requests per second that one Lambda environment is granted. Source: "Lambda quotas"."""


def provisioned_concurrency(request: PlanRequest) -> int:
    """Environments for the peak: by time spent, and at least one per 10 requests a second.

    Source: "Understanding Lambda function scaling".
    """
    return math.ceil(request.peak_per_s * max(request.handler_s, 1 / _LAMBDA_RPS))


def drain_s(request: PlanRequest, demand: Demand) -> float:
    """Seconds until every order of the sale is settled: by allocation, by the payment service, by the workers."""
    sold = min(request.seats, request.orders)
    return max(sold / demand.allocate_per_s, sold / request.payments_per_s, request.orders / demand.settle_per_s)


def warm_usd(request: PlanRequest, layout: Layout) -> float:
    """Warm throughput beyond what a new table and a new index have."""
    ceiling, free = request.limits.partition_write_units, request.limits.new_table_write_units
    bought = [max(0.0, count * ceiling - free) for count in (layout.partitions, layout.partitions_index)]
    return sum(bought) * request.prices.warm_write_unit


def shards_usd(request: PlanRequest, layout: Layout, demand: Demand) -> float:
    """Looking at every shard's index again and again until all is settled: read units and worker cores."""
    queries = layout.shards / request.shard_poll_s * (request.duration_s + drain_s(request, demand))
    reads = queries * 0.5 * request.prices.read_units_per_million / _MILLION
    return reads + queries / request.queries_per_core_s / _HOUR_S * request.prices.worker_core_hour


def cost_parts_usd(request: PlanRequest, layout: Layout, demand: Demand) -> dict[str, float]:
    """Dollars by part; the sum is the sale's cost. The payment service's fees are not in it."""
    prices, units = request.prices, order_units(request)
    orders, sold = request.orders, min(request.seats, request.orders)
    writes = (
        orders * sum(units.accept) + sold * (sum(units.hold) + sum(units.confirm)) + (orders - sold) * sum(units.reject)
    )
    polls = orders * request.polls_per_buyer
    reads = polls + request.reads_per_s * request.duration_s
    calls = orders + polls
    gb_s = calls * request.handler_s * request.handler_gb
    concurrency = provisioned_concurrency(request) * request.handler_gb * request.prewarm_h * _HOUR_S
    cores_h = orders / request.writes_per_core_s / _HOUR_S
    return {
        "writes": writes * prices.write_units_per_million / _MILLION,
        "reads": reads * prices.read_units_per_million / _MILLION,
        "warm_throughput": warm_usd(request, layout),
        "shards": shards_usd(request, layout, demand),
        "api": calls * prices.api_requests_per_million / _MILLION,
        "lambda": calls * prices.lambda_requests_per_million / _MILLION + gb_s * prices.lambda_gb_s,
        "provisioned_concurrency": concurrency * prices.provisioned_concurrency_gb_s,
        "workers": cores_h * prices.worker_core_hour,
    }
