"""The planner keeps its promises under the simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infra.cli.lazy import load
from infra.cli.main import COMMANDS
from infra.model.aggregate import simulate_flows
from infra.model.chart import draw
from infra.model.demand import slices_for
from infra.model.forecast import calculated_rates, forecast, scenario_of
from infra.model.plan_request import Layout, Plan, PlanRequest, to_json
from infra.model.planner import choose_layout, plan
from shared.domain.errors import Invalid

REQUEST = PlanRequest(135_000)


@pytest.fixture(scope="module")
def big_sale() -> Plan:
    """The plan for 135,000 orders a second."""
    return plan(REQUEST)


def test_the_plan_names_all_that_is_needed(big_sale: Plan) -> None:
    """The JSON has every promised key."""
    keys = {
        "shards",
        "partitions",
        "warm_write_units_table",
        "warm_write_units_index",
        "slices",
        "throttle_rate",
        "throttle_rate_low",
        "throttle_rate_high",
        "cost_usd",
        "drain_s",
        "provisioned_concurrency",
        "api_rps_quota",
    }
    data = json.loads(json.dumps(to_json(big_sale)))
    assert keys <= set(data)
    assert all(isinstance(data[key], int | float) for key in keys)


def test_the_plan_stays_within_its_target_and_beats_the_published_rate(big_sale: Plan) -> None:
    """At most 0.01 % even at the upper end; tixCraft published 0.26 %, one key loses nearly all."""
    assert big_sale.throttle_rate <= big_sale.throttle_rate_high <= 0.0001
    rates = {choice.name: choice.forecast.rate for choice in big_sale.alternatives}
    assert rates["one key"] > 0.99
    assert rates["one key"] > rates["peak / 800"] > 0.1 > rates["plan"]


def test_the_plan_buys_what_its_load_needs(big_sale: Plan) -> None:
    """Warm throughput covers door and workers on table and index, and the quotas to raise are named."""
    assert big_sale.warm_write_units_table == 1_000 * big_sale.partitions
    assert min(big_sale.warm_write_units_table, big_sale.warm_write_units_index) > 135_000
    assert big_sale.shards > big_sale.partitions
    assert big_sale.quotas_to_raise["table_write_units"] == big_sale.warm_write_units_table
    assert big_sale.provisioned_concurrency == 13_500
    assert big_sale.api_rps_quota >= 135_000
    assert big_sale.cost_usd == pytest.approx(sum(big_sale.cost_parts_usd.values()), abs=0.05)


def test_the_interval_covers_the_simulated_rate_of_the_plan(big_sale: Plan) -> None:
    """At least 90 of 100 seeds, each with its own placement of keys and its own error of the peak."""
    covered = 0
    for seed in range(1_000, 1_100):
        rate = simulate_flows(scenario_of(REQUEST, big_sale.layout, seed, 10.0), tick_s=0.25).throttle_rate
        covered += big_sale.throttle_rate_low <= rate <= big_sale.throttle_rate_high
    assert covered >= 90


def test_the_forecast_is_right_where_throttles_are_common() -> None:
    """On a layout that is too tight, forecast and simulation agree on how often and how much."""
    request = PlanRequest(13_500, peak_error=0.1, duration_s=40, seats=1_000)
    layout = Layout(512, 30, 30)
    calculated = calculated_rates(request, layout, 400)
    simulated = np.array(
        [simulate_flows(scenario_of(request, layout, seed, 40.0), tick_s=0.25).throttle_rate for seed in range(60)]
    )
    assert 0.001 < simulated.mean() < 0.05
    assert calculated.mean() == pytest.approx(simulated.mean(), rel=0.6)
    foreseen = forecast(request, layout)
    covered = [foreseen.low <= rate <= foreseen.high for rate in simulated]
    assert sum(covered) >= 54


@pytest.mark.parametrize("peak", [5, 300, 5_000])
def test_a_plan_for_any_size_meets_the_target(peak: int) -> None:
    """Small sales get small plans."""
    small = plan(PlanRequest(peak, seats=1_000))
    assert small.throttle_rate_high <= 0.0001
    assert small.shards <= max(8, peak / 10)
    assert small.slices <= 2


def test_a_small_sale_needs_nothing_bought_ahead() -> None:
    """Fifty orders a second fit a fresh table."""
    small = plan(PlanRequest(50, seats=500, allocate_within_s=100))
    assert (small.partitions, small.partitions_index) == (4, 4)
    assert small.cost_parts_usd["warm_throughput"] == 0
    assert small.quotas_to_raise == {}


def test_larger_items_need_more_of_everything() -> None:
    """An item of 1.1 KiB costs two units to write, so the table needs about twice the partitions."""
    base = PlanRequest(5_000)
    small, large = choose_layout(base), choose_layout(replace(base, item_bytes=1_127))
    assert large.partitions > 1.5 * small.partitions
    assert large.partitions_index <= 1.2 * small.partitions_index


def test_slices_follow_the_wish_and_the_seats() -> None:
    """More than 500 allocations a second need more slices, of at least 500 seats each."""
    assert slices_for(PlanRequest(5_000, seats=120_000, allocate_within_s=60)) == 4
    assert slices_for(PlanRequest(5_000, seats=900, allocate_within_s=1)) == 1


def test_the_same_request_gives_the_same_plan() -> None:
    """A plan is a pure function of its request."""
    assert plan(PlanRequest(100)) == plan(PlanRequest(100))


@pytest.mark.parametrize(
    ("field", "value"), [("peak_per_s", 0), ("item_bytes", 500_000), ("buyers", 0), ("duration_s", -1)]
)
def test_what_cannot_be_planned_is_refused_by_name(field: str, value: float) -> None:
    """The message names the field."""
    with pytest.raises(ValueError, match=field):
        PlanRequest(**{"peak_per_s": 100, field: value})  # type: ignore[arg-type]


def test_a_plan_is_drawn(tmp_path: Path) -> None:
    """Heat over partitions and throttles over time, as a PNG."""
    request = PlanRequest(200, duration_s=5)
    draw(plan(request), request, tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_line_prints_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` gives data, no flag gives tables; nonsense is refused with the field's name."""
    command = load("plan", COMMANDS["plan"])
    command.main(["--peak", "200", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["shards"] >= 1
    command.main(["--peak", "200"], standalone_mode=False)
    assert "peak / 800" in capsys.readouterr().out
    with pytest.raises(Invalid, match="peak_per_s"):
        command.main(["--peak", "0"], standalone_mode=False)
