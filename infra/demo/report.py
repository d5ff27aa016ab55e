"""The report of a demo: every figure counted from receipts, orders, inventory and the payment service's books."""

from __future__ import annotations

import os
import platform
from typing import Any

from infra.demo.options import DemoOptions
from infra.demo.run import Course
from infra.verify.figures import sale_figures
from shared.domain.order import Status


def demo_report(options: DemoOptions, course: Course) -> dict[str, Any]:
    """Return the figures by name, JSON-ready. Counts of orders, but `capacity`, `sold` and `oversold`: seats."""
    figures = sale_figures(course.verification.facts)
    summary = course.summary
    return {
        "accepted": summary.accepted,
        "refused": summary.refused,
        **{str(status): figures.by_status.get(str(status), 0) for status in Status},
        "capacity": figures.capacity,
        "sold": figures.sold,
        "oversold": figures.oversold,
        "lost": figures.lost,
        "duplicate_orders": figures.duplicate_orders,
        "double_charged": figures.double_charged,
        "unpaid_confirmed": figures.unpaid_confirmed,
        "waiting_that_fit": course.left_waiting_that_fit,
        "overtaken": round(figures.overtaken, 6),
        "accepted_per_s": summary.accepted_per_s,
        "accept_ms_p50": summary.accept_ms_p50,
        "accept_ms_p99": summary.accept_ms_p99,
        "read_ms_p50": summary.read_ms_p50,
        "read_ms_p99": summary.read_ms_p99,
        "drained_per_s": round(figures.drained_per_s, 1),
        "drained_peak_per_s": figures.drained_peak_per_s,
        "invariants": course.verification.truths,
        "because": {one.invariant: one.because for one in course.verification.verdicts},
        "examples": {one.invariant: one.examples for one in course.verification.verdicts if one.examples},
        "reasons": figures.by_reason,
        "retried": summary.retried,
        "repeated": summary.repeated,
        "gave_up": summary.gave_up,
        "no_answers": summary.no_answers,
        "server_errors": summary.server_errors,
        "bare_503": summary.bare_503,
        "statuses": summary.statuses,
        "problems": summary.problems,
        "counted_by_stream": course.stream.orders,
        "changes_by_stream": course.stream.changes,
        "workers_killed": course.kills,
        "restarts": course.restarts,
        "timed_out": course.timed_out,
        "seconds": course.seconds,
        "seed": options.seed,
        "options": {
            "buyers": options.buyers,
            "store": options.store,
            "shards": options.shards,
            "slices": options.slices,
            "workers": options.workers,
            "party_max": options.party_max,
            "calm": options.calm,
            "kill_workers": options.kill_workers,
            "hold_ttl_s": options.hold_s,
        },
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.system(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
    }


def is_broken(course: Course) -> bool:
    """Say whether anything happened that must never happen."""
    return (
        bool(course.verification.broken)
        or not sale_figures(course.verification.facts).clean
        or course.left_waiting_that_fit > 0
        or course.timed_out
    )
