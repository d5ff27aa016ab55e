"""What the planner is asked, and what it answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from infra.model.limits import Assumptions, Limits


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars, us-east-1, on demand.

    Sources: "Amazon DynamoDB pricing" (units since November 2024; warm throughput beyond what a table has
    costs once what an hour of provisioned capacity costs), "AWS Lambda pricing", "Amazon API Gateway pricing".
    """

    write_units_per_million: float = 0.625
    read_units_per_million: float = 0.125
    warm_write_unit: float = 0.00065
    api_requests_per_million: float = 1.0
    lambda_requests_per_million: float = 0.2
    lambda_gb_s: float = 0.0000166667
    provisioned_concurrency_gb_s: float = 0.0000041667
    worker_core_hour: float = 0.04


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A sale to plan for. Rates are per second, sizes in bytes.

    peak_per_s: orders per second at the peak. peak_error: its standard error, as a share of it.
    duration_s: how long the peak lasts. buyers: orders in all; none: the peak for the whole duration.
    seats, allocate_within_s: what is sold, and how fast it should be held.
    buyer_limit: the sale has a limit per buyer, which costs a counter write an order.
    consumer_share: orders the workers settle per second, as a share of the peak.
    payments_per_s: what the payment service takes (Stripe's default live limit is 100 a second).
    poll_share: status reads per second, as a share of the peak. polls_per_buyer: of one buyer in all.
    reads_per_s: other reads. processes: of the door, each with retry budgets of its own.
    shard_poll_s: how often a worker looks at each shard's index; orders_per_look: how many orders it
    should find there at the peak (half a batch).
    handler_s, handler_gb: one ingest call. prewarm_h: hours of provisioned concurrency.
    queries_per_core_s, writes_per_core_s: what one worker core does.
    target: highest acceptable throttle rate at the upper end of its interval.
    """

    peak_per_s: float
    item_bytes: int = 600
    peak_error: float = 0.1
    duration_s: float = 600
    buyers: int | None = None
    seats: int = 120_000
    allocate_within_s: float = 120
    buyer_limit: bool = True
    consumer_share: float = 0.1
    payments_per_s: float = 100
    poll_share: float = 1.0
    polls_per_buyer: float = 3
    reads_per_s: float = 0
    processes: int = 100
    shard_poll_s: float = 1.0
    orders_per_look: float = 25
    handler_s: float = 0.02
    handler_gb: float = 0.25
    prewarm_h: float = 1.0
    queries_per_core_s: float = 700
    writes_per_core_s: float = 1_150
    target: float = 0.0001
    seed: int = 1
    prices: Prices = field(default_factory=Prices)
    limits: Limits = field(default_factory=Limits)
    assumed: Assumptions = field(default_factory=Assumptions)

    def __post_init__(self) -> None:
        """Refuse what cannot be planned, naming the field."""
        positive = (
            "peak_per_s",
            "item_bytes",
            "duration_s",
            "seats",
            "allocate_within_s",
            "payments_per_s",
            "target",
            "shard_poll_s",
            "orders_per_look",
        )
        for name in positive:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0.")
        if self.buyers is not None and self.buyers < 1:
            raise ValueError("buyers must be at least 1, or left out.")
        if self.item_bytes > 400 * 1024:
            raise ValueError("item_bytes must be at most 409,600: DynamoDB stores no larger item.")

    @property
    def orders(self) -> int:
        """Orders in all."""
        return self.buyers if self.buyers is not None else round(self.peak_per_s * self.duration_s)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Throttled requests over all requests, and the span that holds 99 of 100 draws."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Layout:
    """So many shards over so many partitions of table and index (1,000 write units each)."""

    shards: int
    partitions: int
    partitions_index: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to lay the sale out, and what it would meet.

    accepted_share: requests of the first seconds of the peak that get through in that time.
    accept_delay_ms_*: what our retries add to those that do.
    """

    name: str
    layout: Layout
    forecast: Forecast
    cost_usd: float
    accepted_share: float
    accept_delay_ms_mean: float
    accept_delay_ms_p99: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The planner's answer; units per second unless the name says otherwise."""

    shards: int
    partitions: int
    partitions_index: int
    warm_write_units_table: int
    warm_write_units_index: int
    slices: int
    throttle_rate: float
    throttle_rate_low: float
    throttle_rate_high: float
    accept_delay_ms_mean: float
    accept_delay_ms_p99: float
    cost_usd: float
    cost_parts_usd: dict[str, float]
    drain_s: float
    poll_after_s: float
    workers: int
    provisioned_concurrency: int
    api_rps_quota: int
    quotas_to_raise: dict[str, float]
    alternatives: tuple[Choice, ...]

    @property
    def layout(self) -> Layout:
        """Shards and partitions."""
        return Layout(self.shards, self.partitions, self.partitions_index)


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, ready for `json.dumps`."""
    return asdict(plan)
