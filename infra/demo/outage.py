"""The payment service dies in the middle of a sale, and comes back; what it has to say comes late, twice or never."""

from __future__ import annotations

import time

from infra.local.system import System

PAYMENT = "payment service"
FIRST_AFTER_S = 1.0
LASTS_S = 20.0
# Shares of its webhooks, and how late the late ones are at most.
FAULTS = {"webhook_lost": 0.3, "webhook_doubled": 0.3, "webhook_delayed": 0.5, "webhook_delay_max_s": 8.0}


class Outage:
    """One outage: SIGKILL, silence for `LASTS_S`, and a start over the same books."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._begins_s = time.monotonic() + FIRST_AFTER_S
        self._began_s: float | None = None
        self.lasted_s = 0.0

    @property
    def over(self) -> bool:
        """Say whether the service is back."""
        return self.lasted_s > 0

    def act_if_due(self) -> None:
        """Kill the service, or bring it back, when the time has come."""
        now_s = time.monotonic()
        if self._began_s is None:
            if now_s >= self._begins_s:
                self._system.take_down(PAYMENT)
                self._began_s = now_s
        elif not self.over and now_s - self._began_s >= LASTS_S:
            self._system.bring_back(PAYMENT)
            self.lasted_s = round(time.monotonic() - self._began_s, 2)
