"""After the sale: the reconciler walks until orders and payments agree, or patience ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from consumers.reconcile.report import Report
from consumers.reconcile.walk import Reconciler
from shared.domain.errors import Unavailable
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.system import SystemClock, SystemIds

PATIENCE_S = 60.0
BETWEEN_S = 1.0


def reconcile_until_settled(store: Store, gateway: PaymentGateway, wait: Callable[[float], None]) -> list[Report]:
    """Return the reports of all walks; the last one tells what is left. `wait` lets time pass, in seconds."""
    reports: list[Report] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        clock = SystemClock()
        try:
            reports.append(Reconciler(store, gateway, clock, SystemIds()).walk())
        except Unavailable:
            if time.monotonic() > deadline_s:
                raise
        if (reports and reports[-1].open == 0) or time.monotonic() > deadline_s:
            return reports
        wait(BETWEEN_S)
