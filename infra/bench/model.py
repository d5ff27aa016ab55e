"""The simulation at full size: what came of each run, and what the run itself took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.bench.where_and_when import where_and_when
from infra.model.simulate import report, scale_runs

MAX_CPU_S = 60.0
MAX_RSS_MB = 1_024


def run(*, say: Callable[[str], None]) -> dict[str, Any]:
    """Run every scenario at full size; `kept` says whether the first stays within 60 s of one core and 1 GB."""
    runs = []
    for name, scenario in scale_runs():
        runs.append(report(name, scenario))
        say(f"{name}: {runs[-1]['cpu_s']} s")
    first = runs[0]
    kept = float(str(first["cpu_s"])) <= MAX_CPU_S and float(str(first["rss_mb"])) <= MAX_RSS_MB
    return {
        **where_and_when(),
        "against": f"{MAX_CPU_S:g} s of one core and {MAX_RSS_MB:,} MB for 135,000 writes/s over ten minutes",
        "kept": kept,
        "runs": runs,
    }
