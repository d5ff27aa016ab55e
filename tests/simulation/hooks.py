"""The payment service's webhooks by night: lost, doubled, late, in any order, repeated until they are taken."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.note_payment import note_payment
from ingest.parts import Parts
from shared.domain.errors import OnsaleError
from shared.ports.payment import Intent, PaymentNotice
from tests.simulation.plan import Weather
from tests.simulation.scheduler import Actor, Scheduler

FIRST_RETRY_MS = 500
LONGEST_RETRY_MS = 60_000
TRIES = 20


@dataclass(frozen=True, slots=True)
class Hooks:
    """Hears what happens to intents, and tells a door of it in its own time."""

    scheduler: Scheduler
    rng: random.Random
    weather: Weather
    doors: Sequence[Parts]

    def tell(self, kind: str, intent: Intent) -> None:
        """Send the news of one event on its way, or lose it."""
        if self.rng.random() < self.weather.hooks_lost:
            return
        notice = PaymentNotice("evt", kind, intent.intent_id, intent.order_key, self.scheduler.now_ms)
        copies = 2 if self.rng.random() < self.weather.hooks_doubled else 1
        for _ in range(copies):
            after_ms = self.rng.randrange(1 + self.weather.hooks_late_ms)
            self.scheduler.start(Actor("hook", lambda: self._deliver(notice)), after_ms=after_ms)

    def _deliver(self, notice: PaymentNotice) -> None:
        wait_ms = FIRST_RETRY_MS
        for _ in range(TRIES):
            try:
                note_payment(self.rng.choice(self.doors), notice)
            except OnsaleError:
                self.scheduler.wait(wait_ms)
                wait_ms = min(LONGEST_RETRY_MS, 2 * wait_ms)
                continue
            return
