"""Run nights by their seeds: `python -m tests.simulation.run --seeds 1000`."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields

from shared.domain.errors import Broken
from tests.simulation.night import Night
from tests.simulation.plan import CALM, NightPlan, calmer, plan_night
from tests.simulation.watcher import InvariantBroken

MakeNight = Callable[[NightPlan], Night]


# Nights that are tried to shorten a failing one.
MAX_TRIES = 120
TOLD_LINES = 60
_NAMES = re.compile(r"[1-9]-[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Failure:
    """A night in which a promise did not hold, cut to the least that shows it."""

    plan: NightPlan
    message: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        """Tell what was left of the night, the story of the orders that the message names, and the last lines."""
        plan = self.plan
        calm = {field.name: value for field in fields(CALM) if (value := getattr(plan.weather, field.name))}
        deeds = [f"{one.deed} {one.figure or ''}".strip() for one in plan.staff]
        names = set(_NAMES.findall(self.message))
        told = [line for line in self.trace[:-TOLD_LINES] if any(name in line for name in names) or "staff" in line]
        return "\n".join(
            [
                f"seed {plan.seed}: {self.message}",
                (
                    f"{len(plan.buyers)} buyers, {plan.workers} workers, {plan.doors} doors ({plan.deaf_doors} deaf), "
                    f"shards {plan.sale.shard_counts}, weather {calm or 'calm'}, staff {deeds or 'idle'}"
                ),
                *told[-TOLD_LINES:],
                *self.trace[-TOLD_LINES:],
            ]
        )


def run_seed(seed: int, make: MakeNight = Night) -> tuple[Night, Failure | None]:
    """Run one night; on failure take away what is not needed to show it."""
    plan = plan_night(seed)
    night, message = play(plan, make)
    if message is None:
        return night, None
    return night, _shorten(Failure(plan, message, tuple(night.trace)), make)


def _shorten(failure: Failure, make: MakeNight) -> Failure:
    tries = 0
    shorter: Failure | None = failure
    while shorter is not None:
        failure, shorter = shorter, None
        for plan in calmer(failure.plan):
            if tries == MAX_TRIES:
                return failure
            tries += 1
            night, message = play(plan, make)
            if message is not None and message[:2] == failure.message[:2]:
                shorter = Failure(plan, message, tuple(night.trace))
                break
    return failure


def play(plan: NightPlan, make: MakeNight = Night) -> tuple[Night, str | None]:
    """Run one night to its end; return what went wrong, or None."""
    night = make(plan)
    try:
        night.run()
    except InvariantBroken as broken:
        return night, str(broken)
    except Broken as broken:
        return night, f"Broken: {broken.message}"
    return night, None


def main() -> int:
    """Run many nights and tell what happened in them; 6 when a promise did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many nights (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args()
    began_s = time.monotonic()
    ends: Counter[str] = Counter()
    turns = 0
    for seed in range(options.first, options.first + options.seeds):
        night, failure = run_seed(seed)
        if failure is not None:
            sys.stdout.write(f"\n{failure}\n")
            return 6
        turns += night.scheduler.turns
        ends.update(str(order.status) for order in night.watcher.orders.values())
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{seed - options.first + 1}/{options.seeds} nights")
    spent_s = time.monotonic() - began_s
    sys.stdout.write(
        f"{options.seeds} nights, {turns} turns in {spent_s:.0f} s; no promise broken; orders: {dict(ends)}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
