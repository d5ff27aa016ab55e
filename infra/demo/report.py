"""The report of a demo: every figure counted from receipts, orders, inventory and the payment service's books."""

from __future__ import annotations

import os
import platform
from typing import Any

from consumers.reconcile.report import Report
from infra.demo.run import Course, Evidence
from infra.verify.figures import sale_figures
from shared.domain.order import Status

MAX_TOLD = 5


def demo_report(course: Course, evidence: Evidence) -> dict[str, Any]:
    """Return the figures by name, JSON-ready. Counts of orders, but `capacity`, `sold` and `oversold`: seats."""
    figures = sale_figures(evidence.verification.facts)
    summary, verdicts, options = evidence.summary, evidence.verification.verdicts, course.options
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
        "waiting_that_fit": course.waiting_that_fit,
        "overtaken": round(figures.overtaken, 6),
        "accepted_per_s": summary.accepted_per_s,
        "accept_ms_p50": summary.accept_ms_p50,
        "accept_ms_p99": summary.accept_ms_p99,
        "read_ms_p50": summary.read_ms_p50,
        "read_ms_p99": summary.read_ms_p99,
        "drained_per_s": round(figures.drained_per_s, 1),
        "drained_peak_per_s": figures.drained_peak_per_s,
        "invariants": evidence.verification.truths,
        "because": {one.invariant: one.because for one in verdicts},
        "examples": {one.invariant: one.examples for one in verdicts if one.examples},
        "reasons": figures.by_reason,
        "retried": summary.retried,
        "repeated": summary.repeated,
        "gave_up": summary.gave_up,
        "no_answers": summary.no_answers,
        "server_errors": summary.server_errors,
        "bare_503": summary.bare_503,
        "statuses": summary.statuses,
        "problems": summary.problems,
        "counted_by_stream": evidence.stream.orders,
        "changes_by_stream": evidence.stream.changes,
        "workers_killed": course.kills,
        "payment_outage_s": course.outage_s,
        "reconciliation": _reconciliation(course.reconciled),
        "restarts": course.restarts,
        "timed_out": not course.in_time,
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
            "payment_chaos": options.payment_chaos,
            "hold_ttl_s": options.hold_s,
        },
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.system(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
    }


def is_broken(course: Course, evidence: Evidence) -> bool:
    """Say whether anything happened that must never happen."""
    return (
        bool(evidence.verification.broken)
        or not sale_figures(evidence.verification.facts).clean
        or course.waiting_that_fit > 0
        or not course.in_time
        or any(walk.open for walk in course.reconciled[-1:])
    )


def _reconciliation(walks: list[Report]) -> dict[str, Any]:
    """Sum up the walks: what was mended in all, and what the last one left open."""
    last = walks[-1:]
    return {
        "walks": len(walks),
        "mended": sum(walk.mended for walk in walks),
        "open": sum(walk.open for walk in last),
        "for_a_person": sum(walk.for_a_person for walk in last),
        "orphans": sum(one.code == "orphan" for walk in walks for one in walk.findings),
        "sentences": [one.sentence for walk in last for one in walk.findings][:MAX_TOLD],
    }
