"""A picture of a plan: heat over partitions, and the throttle rate over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from infra.model.aggregate import simulate_flows
from infra.model.forecast import scenario_of
from infra.model.plan_request import Plan, PlanRequest

_SHOWN_S = 30.0


def draw(plan: Plan, request: PlanRequest, path: Path) -> None:
    """Write a PNG that shows the plan beside its alternatives over the first half minute of the peak."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    over_partitions, over_time = figure.subplots(2, 1)
    for choice in plan.alternatives:
        scenario = scenario_of(request, choice.layout, request.seed, min(_SHOWN_S, request.duration_s))
        run = simulate_flows(scenario)
        label = f"{choice.name}: {choice.layout.shards:,} shards, throttle rate {choice.forecast.rate:.2g}"
        over_partitions.step(np.arange(len(run.heat)), np.sort(run.heat)[::-1], where="mid", label=label)
        rate = run.throttled / np.maximum(run.attempts, 1)
        shown = rate[: int(scenario.arrivals.duration_s)]
        over_time.plot(np.arange(len(shown)), shown, label=label)
    over_partitions.axhline(1.0, color="grey", linestyle=":", label="a partition's ceiling")
    over_partitions.set(xlabel="partitions of the table, hottest first", ylabel="writes / ceiling")
    over_time.set(xlabel="seconds since opening", ylabel="throttled / requests", ylim=(-0.02, 1.02))
    for axes in (over_partitions, over_time):
        axes.legend(loc="upper right", fontsize="small")
        axes.grid(alpha=0.3)
    figure.suptitle(f"{request.peak_per_s:,.0f} orders a second on {plan.partitions:,} partitions")
    figure.savefig(path, dpi=120, format="png")
