"""The scheduled consumer: reconciles within the time that the scheduler grants.

The event may carry `since_hours` (default 72) and the `cursor` of a walk that was cut off; the answer is the report.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from consumers.office import open_office
from consumers.reconcile.report import Report
from consumers.reconcile.walk import Reconciler
from shared.ports.control import CheckReport
from shared.ports.store import Store
from shared.ports.system import Clock

SINCE_HOURS = 72.0
# Kept back from the time granted: one page, and the answer.
MARGIN_S = 15.0
_log = logging.getLogger(__name__)


class Context(Protocol):
    """What AWS Lambda says of an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long this invocation may still take."""
        ...


def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Walk once; raises what the back ends raise, and the next run begins again."""
    office = open_office()
    tools = office.tools
    try:
        reconciler = Reconciler(tools.store, tools.gateway, tools.clock, tools.ids)
        report = reconciler.walk(
            since_ms=since(tools.clock, float(event.get("since_hours", SINCE_HOURS))),
            cursor=event.get("cursor"),
            goes_on=lambda: context.get_remaining_time_in_millis() > MARGIN_S * 1000,
        )
        keep(tools.store, tools.clock, report)
    finally:
        office.close()
    tell(_log, report)
    return report.as_dict()


def since(clock: Clock, hours: float) -> int:
    """Return the time so many hours ago, 0 for all."""
    return max(0, clock.now_ms() - round(hours * 3_600_000)) if hours > 0 else 0


def keep(store: Store, clock: Clock, report: Report) -> None:
    """Keep a whole walk's figures, for whoever asks how orders and books stand."""
    if report.complete:
        facts = {name: str(count) for name, count in report.as_dict().items() if type(count) is int}
        store.note_check(CheckReport("reconcile", "", clock.now_ms(), good=not report.for_a_person, facts=facts))


def tell(logger: Any, report: Report) -> None:  # noqa: ANN401 - Powertools' logger or the standard one
    """Log the figures, and each finding that a person has to see."""
    figures = {name: value for name, value in report.as_dict().items() if name != "findings"}
    logger.info("payments reconciled", extra={"action": "reconcile", "figures": figures})
    for one in report.findings:
        logger.warning(
            "payment and order differ",
            extra={
                "action": "reconcile",
                "course": str(one.course),
                "code": one.code,
                "event_id": one.event_id,
                "order_id": one.order_id,
            },
        )
