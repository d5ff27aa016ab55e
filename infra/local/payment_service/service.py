"""The service's moving parts, held together: books, writer, faults, keys in flight, webhooks, settlements."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.payment_service.actions import Call
from infra.local.payment_service.books import Books, connect
from infra.local.payment_service.delivery import Deliverer, Endpoint, Silent, Webhooks
from infra.local.payment_service.faults import Dice, Faults
from infra.local.payment_service.idempotency import FORGET_AFTER_S, InFlight
from infra.local.payment_service.records import Event
from infra.local.payment_service.settling import Settler
from infra.local.payment_service.writer import Writer

API_VERSION = "2026-10-28.endive"


@dataclass(frozen=True, slots=True)
class Settings:
    """How one service is set up. `data` is its SQLite file; without an endpoint nobody is called."""

    data: Path
    api_key: str
    publishable_key: str
    seed: int
    endpoint: Endpoint | None = None
    faults: Faults = field(default_factory=Faults)
    forget_idempotency_after_s: float = FORGET_AFTER_S
    processing_delay_s: float = 2.0


class Service:
    """Made once the event loop runs; `close` finishes what was handed to the writer."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults = settings.faults
        self.dice = Dice(settings.seed)
        self.in_flight = InFlight()
        self.reads = Books(connect(settings.data))
        self.webhooks = Webhooks(settings.endpoint, lambda: self.faults, self.dice) if settings.endpoint else None
        self.deliverer: Deliverer = self.webhooks or Silent()
        self.settler = Settler(self.reads, self.call)
        self.writer = Writer(settings.data, self._on_events)

    def call(
        self,
        subject: str,
        *,
        idempotency_key: str | None = None,
        refused: bool = False,
        public: bool = False,
        expand: frozenset[str] = frozenset(),
    ) -> Call:
        """What a call brings besides its parameters, as of now."""
        return Call(
            now_ms=time.time_ns() // 1_000_000,
            subject=subject,
            api_version=API_VERSION,
            settle_delay_ms=round(self.settings.processing_delay_s * 1000),
            search_lag_ms=round(self.faults.search_lag_s * 1000),
            idempotency_key=idempotency_key,
            refused=refused,
            public=public,
            expand=expand,
        )

    def close(self) -> None:
        """Finish writing and close the file."""
        self.writer.close()
        self.reads.connection.close()

    def _on_events(self, events: list[Event]) -> None:
        self.deliverer.accept(events)
        if any(event.type == "payment_intent.processing" for event in events):
            self.settler.nudge()
