"""What waits for a person, what was found by checks, what staff did."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import Change, ChangeCard, ParkedCard, PaymentCard, VerifyCard
from shared.domain.times import format_time_ms
from shared.metrics import PAYMENT_CALLS, PAYMENT_NOTICES, Metric
from shared.ports.control import CheckReport

VERIFY, RECONCILE = "verify", "reconcile"
MAX_CHANGES = 8


def parked_card(look: Look) -> ParkedCard:
    """Count them as the stream tells: one query, which the funnel needs as well."""
    by_shard = look.parked_by_shard()
    return ParkedCard(
        as_of=look.as_of,
        parked=sum(by_shard.values()),
        by_shard={str(shard): count for shard, count in by_shard.items()},
    )


def payment_card(look: Look) -> PaymentCard:
    """Add up the calls that this machine's processes made, and read the last reconciliation: one query."""
    calls: dict[str, dict[str, int]] = {}
    for (call, outcome), count in _count(look, PAYMENT_CALLS).items():
        calls.setdefault(call, {})[outcome] = count
    report = _report(look, RECONCILE, "")
    return PaymentCard(
        as_of=look.as_of,
        calls=calls,
        notices={labels[0]: count for labels, count in _count(look, PAYMENT_NOTICES).items()},
        reconciled_at=None if report is None else format_time_ms(report.at_ms),
        open=None if report is None else int(report.facts.get("open", 0)),
        for_a_person=None if report is None else int(report.facts.get("for_a_person", 0)),
    )


def verify_card(look: Look) -> VerifyCard:
    """Read the last verification: one query."""
    report = _report(look, VERIFY, look.sale.event_id)
    if report is None:
        return VerifyCard(as_of=look.as_of)
    return VerifyCard(
        as_of=look.as_of,
        verified_at=format_time_ms(report.at_ms),
        good=report.good,
        invariants=dict(sorted(report.facts.items())),
    )


def change_card(look: Look) -> ChangeCard:
    """Read the newest entries of the audit trail: one query."""
    entries = look.parts.store.list_audit(limit=MAX_CHANGES)
    return ChangeCard(
        as_of=look.as_of,
        changes=[
            Change(
                at=format_time_ms(entry.at_ms),
                who=entry.who,
                action=entry.action,
                subject=entry.subject,
                after=entry.after,
            )
            for entry in entries
        ],
    )


def _count(look: Look, metric: Metric) -> dict[tuple[str, ...], int]:
    counts: dict[tuple[str, ...], int] = {}
    for snapshot in look.parts.insight.snapshots(look.now_ms):
        for labels, series in snapshot.series.get(metric.name, {}).items():
            counts[labels] = counts.get(labels, 0) + round(series.value)
    return dict(sorted(counts.items()))


def _report(look: Look, check: str, subject: str) -> CheckReport | None:
    reports = look.parts.store.list_checks()
    return next((report for report in reports if (report.check, report.subject) == (check, subject)), None)
