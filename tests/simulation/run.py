"""Run nights by their seeds: `python -m tests.simulation.run --seeds 1000`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.night import Night
from tests.simulation.plan import NightPlan, calmer, plan_night
from tests.simulation.watcher import InvariantBroken

MakeNight = Callable[[NightPlan], Night]


@dataclass(frozen=True, slots=True)
class Failure:
    """A night in which a promise did not hold, with the fewest buyers that show it."""

    seed: int
    buyers: int
    message: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        """Tell the story, its last lines first cut to what fits on a page."""
        lines = "\n".join(self.trace[-80:])
        return f"seed {self.seed}, {self.buyers} buyers: {self.message}\n{lines}"


def run_seed(seed: int, make: MakeNight = Night) -> tuple[Night, Failure | None]:
    """Run one night; on failure shorten it to the fewest buyers that still show it."""
    plan = plan_night(seed)
    night, message = _try(plan, make)
    if message is None:
        return night, None
    for buyers in range(1, len(plan.buyers)):
        shorter, same = _try(calmer(plan, buyers=buyers), make)
        if same is not None:
            return shorter, Failure(seed, buyers, same, tuple(shorter.trace))
    return night, Failure(seed, len(plan.buyers), message, tuple(night.trace))


def _try(plan: NightPlan, make: MakeNight) -> tuple[Night, str | None]:
    night = make(plan)
    try:
        night.run()
    except InvariantBroken as broken:
        return night, str(broken)
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
