"""`onsale plan`: how to lay a sale out on DynamoDB, and what it will cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import AsJson
from shared.domain.errors import Invalid

if TYPE_CHECKING:
    from infra.model.plan_request import Plan, PlanRequest


def plan_command(
    peak: Annotated[float, typer.Option(help="Orders per second at the peak.", envvar="ONSALE_PLAN_PEAK")],
    item_bytes: Annotated[int, typer.Option(help="Stored size of one order.")] = 600,
    buyers: Annotated[int | None, typer.Option(help="Orders in all. Default: the peak for the whole duration.")] = None,
    seats: Annotated[int, typer.Option(help="Seats to sell.")] = 120_000,
    duration_s: Annotated[float, typer.Option(help="How long the peak lasts.")] = 600,
    peak_error: Annotated[float, typer.Option(help="Standard error of the peak, as a share of it.")] = 0.1,
    allocate_within_s: Annotated[float, typer.Option(help="Seats should be held within this time.")] = 120,
    buyer_limit: Annotated[bool, typer.Option(help="The sale has a limit per buyer.")] = True,
    consumer_share: Annotated[float, typer.Option(help="Orders settled per second, as a share of the peak.")] = 0.1,
    payments_per_s: Annotated[float, typer.Option(help="What the payment service takes.")] = 100,
    poll_share: Annotated[float, typer.Option(help="Status reads per second, as a share of the peak.")] = 1.0,
    polls_per_buyer: Annotated[float, typer.Option(help="Status reads of one buyer in all.")] = 3,
    reads_per_s: Annotated[float, typer.Option(help="Other reads per second.")] = 0,
    handler_ms: Annotated[float, typer.Option(help="Time of one ingest call on Lambda.")] = 20,
    write_price: Annotated[float, typer.Option(help="Dollars per million write units.")] = 0.625,
    read_price: Annotated[float, typer.Option(help="Dollars per million read units.")] = 0.125,
    warm_price: Annotated[float, typer.Option(help="Dollars per write unit of warm throughput.")] = 0.00065,
    index_transaction_factor: Annotated[
        int, typer.Option(help="Write units of an index entry inside a transaction (AWS publishes none).", min=1, max=2)
    ] = 1,
    target: Annotated[float, typer.Option(help="Highest acceptable throttle rate.")] = 0.0001,
    seed: Annotated[int, typer.Option(help="Draws the placements of keys.")] = 1,
    chart: Annotated[Path | None, typer.Option(help="Write a PNG: heat over partitions, throttles over time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Choose shards, partitions, warm throughput and slices for a sale, and forecast throttles and cost.

    The limits are DynamoDB's published ones; what AWS does not publish is assumed on the careful side. The plan is
    the cheapest whose throttle rate stays within the target at the upper end of its interval.

    Examples: onsale plan --peak 135000 --json · onsale plan --peak 2000 --seats 5000 --chart plan.png
    """
    from infra.model.limits import Assumptions
    from infra.model.plan_request import PlanRequest, Prices, to_json
    from infra.model.planner import plan

    try:
        request = PlanRequest(
            peak_per_s=peak,
            item_bytes=item_bytes,
            buyers=buyers,
            seats=seats,
            duration_s=duration_s,
            peak_error=peak_error,
            allocate_within_s=allocate_within_s,
            buyer_limit=buyer_limit,
            consumer_share=consumer_share,
            payments_per_s=payments_per_s,
            poll_share=poll_share,
            polls_per_buyer=polls_per_buyer,
            reads_per_s=reads_per_s,
            handler_s=handler_ms / 1_000,
            target=target,
            seed=seed,
            prices=replace(
                Prices(),
                write_units_per_million=write_price,
                read_units_per_million=read_price,
                warm_write_unit=warm_price,
            ),
            assumed=Assumptions(index_transaction_factor=index_transaction_factor),
        )
        found = plan(request)
    except ValueError as error:
        raise Invalid(str(error)) from error
    if chart is not None:
        from infra.model.chart import draw

        draw(found, request, chart)
        say(f"The chart is in {chart}.")
    if as_json:
        put_json(to_json(found))
    else:
        _show(found, request)


def _show(plan: Plan, request: PlanRequest) -> None:
    span = f"{plan.throttle_rate_low:.2g} to {plan.throttle_rate_high:.2g}"
    put_facts(
        {
            "shards": f"{plan.shards:,}",
            "partitions": f"{plan.partitions:,} of the table, {plan.partitions_index:,} of the index",
            "warm write units/s": f"{plan.warm_write_units_table:,} and {plan.warm_write_units_index:,}",
            "slices": plan.slices,
            "throttle rate": f"{plan.throttle_rate:.2g} ({span})",
            "provisioned concurrency": f"{plan.provisioned_concurrency:,}",
            "API requests/s": f"{plan.api_rps_quota:,}",
            "worker cores": plan.workers,
            "drained after": f"{plan.drain_s:,.0f} s",
            "a buyer asks again after": f"{plan.poll_after_s:,.0f} s",
            "cost": f"${plan.cost_usd:,.2f}",
        },
        title=f"{request.peak_per_s:,.0f} orders a second",
    )
    put_table(("Cost of", "$"), [(name, f"{usd:,.2f}") for name, usd in plan.cost_parts_usd.items()])
    put_table(
        ("Layout", "Shards", "Throttle rate", "Got through", "Retries add, p99 ms", "$"),
        [
            (
                choice.name,
                f"{choice.layout.shards:,}",
                f"{choice.forecast.rate:.2g}",
                f"{choice.accepted_share:.1%}",
                f"{choice.accept_delay_ms_p99:,.0f}",
                f"{choice.cost_usd:,.2f}",
            )
            for choice in plan.alternatives
        ],
        title="The same warm throughput with other keys",
    )
    if plan.quotas_to_raise:
        put_facts({k: f"{v:,.0f}" for k, v in plan.quotas_to_raise.items()}, title="Quotas to ask AWS for")
