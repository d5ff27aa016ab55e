"""A sale's opening simulated at any scale: `python -m infra.model.simulate --scale-run`.

Prints one JSON object per run: what came, what got through, what was throttled, and what it took to
find out (seconds, resident memory).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from infra.model.aggregate import simulate_flows
from infra.model.capacity import OnDemand
from infra.model.forecast import scenario_of
from infra.model.limits import Limits
from infra.model.load import (
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
from infra.model.plan_request import PlanRequest
from infra.model.planner import choose_layout
from infra.model.retry_rules import sdk_rules
from infra.model.scenario import Outcome, Scenario

PEAK_PER_S = 135_000
SHARDS = 4_096
SECONDS = 600.0
_SDK_CLIENTS = 200


def named_scenarios(seconds: float = 60.0, peak: float = PEAK_PER_S, seed: int = 0) -> dict[str, Scenario]:
    """One scenario for each shape of arrivals and keys, at full size, on generous warm throughput."""
    warm = OnDemand(warm_write_units=3 * peak)
    ours = Scenario(
        arrivals=step(peak, seconds),
        groups=(random_suffixes("event", SHARDS),),
        table=warm,
        index=warm,
        limits=Limits(table_quota_write_units=10 * peak),
        seed=seed,
    )
    at_once = opening(200_000, 1, 0, seconds)
    return {
        "step": ours,
        "ramp": replace(ours, arrivals=ramp(20, peak, seconds / 2, seconds)),
        "poisson-bursts": replace(ours, arrivals=bursts(peak / 2, 4, 10, 1, seconds, seed)),
        "buyers-at-once": replace(ours, arrivals=at_once),
        "buyers-at-once-admitted": replace(ours, arrivals=at_once, accept_per_s=40_000),
        "one-key": replace(ours, groups=(random_suffixes("event", 1),)),
        "one-key-sdk": replace(ours, groups=(random_suffixes("event", 1),), retries=sdk_rules(_SDK_CLIENTS)),
        "peak/800": replace(ours, groups=(random_suffixes("event", round(peak / 800)),)),
        "peak/800-sdk": replace(
            ours, groups=(random_suffixes("event", round(peak / 800)),), retries=sdk_rules(_SDK_CLIENTS)
        ),
        "bots-on-one-key": replace(ours, groups=bots_on_one_key("event", SHARDS, 0.1)),
        "several-events": replace(ours, groups=several_events("event", SHARDS // 4, (0.55, 0.25, 0.15, 0.05))),
        "time-bucket-keys": replace(ours, groups=(time_buckets("event", 10, 1.0),)),
        "calculated-suffixes": replace(ours, groups=(calculated_suffixes("event", SHARDS, 500, seed),)),
        "fresh-table": replace(ours, table=OnDemand(), index=OnDemand()),
    }


def scale_runs() -> Iterator[tuple[str, Scenario]]:
    """The wall at full size: ten minutes on the plan's own layout, everybody at once, and beyond the quota."""
    request = PlanRequest(PEAK_PER_S)
    planned = replace(scenario_of(request, choose_layout(request), 0, SECONDS), arrivals=step(PEAK_PER_S, SECONDS))
    yield "135,000/s for 10 minutes", planned
    yield "200,000 buyers in the first second", replace(planned, arrivals=opening(200_000, 1, 0, 30))
    yield (
        "200,000 buyers in the first second, 40,000/s admitted",
        replace(planned, arrivals=opening(200_000, 1, 0, 30), accept_per_s=40_000),
    )
    million = PlanRequest(1_000_000)
    layout = choose_layout(million)
    beyond = replace(scenario_of(million, layout, 0, 60), arrivals=step(1_000_000, 60))
    yield "1,000,000/s for a minute, quota raised", beyond
    yield "1,000,000/s for a minute at today's quota", replace(beyond, limits=Limits())


def report(name: str, scenario: Scenario, run: Callable[[Scenario], Outcome] = simulate_flows) -> dict[str, object]:
    """Run a scenario and say what came of it, and what the run itself took."""
    started_s = time.process_time()
    outcome = run(scenario)
    took_s = time.process_time() - started_s
    mean_s, p99_s = outcome.retry_delay_s(scenario.retries)
    return {
        "scenario": name,
        "arrivals": round(float(outcome.arrivals.sum())),
        "refused_at_door": round(float(outcome.refused_at_door.sum())),
        "attempts": round(float(outcome.attempts.sum())),
        "throttled": round(float(outcome.throttled.sum())),
        "accepted": round(float(outcome.accepted.sum())),
        "throttle_rate": outcome.throttle_rate,
        "accepted_share": outcome.accepted_share,
        "retry_delay_ms_mean": round(1_000 * mean_s, 3),
        "retry_delay_ms_p99": round(1_000 * p99_s, 3),
        "partitions": len(outcome.heat),
        "hottest_partition": round(float(outcome.heat.max()), 4),
        "cpu_s": round(took_s, 2),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m infra.model.simulate", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios to run; none: all")
    parser.add_argument("--scale-run", action="store_true", help="the runs at full size")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--per-request", action="store_true", help="one request at a time; wants a small --scale")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink load and limits alike")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.scale_run:
        runs: list[tuple[str, Scenario]] = list(scale_runs())
    else:
        known = named_scenarios(options.seconds, seed=options.seed)
        unknown = set(options.names) - set(known)
        if unknown:
            parser.error(f"no scenario is called {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
        runs = [(name, known[name].scaled(options.scale)) for name in options.names or known]
    for name, scenario in runs:
        run = simulate_requests if options.per_request else simulate_flows
        sys.stdout.write(json.dumps(report(name, scenario, run)) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
