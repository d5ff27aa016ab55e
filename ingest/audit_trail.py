"""Who changed what: written for every change by staff, by whatever door."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.parts import Parts
from shared.domain.sale import Sale
from shared.ports import AuditEntry


@dataclass(frozen=True, slots=True)
class Actor:
    """The member of staff, by the token's subject."""

    who: str


def write_audit(parts: Parts, actor: Actor, action: str, *, before: Sale | None, after: Sale) -> None:
    """Append one entry: the sale's state before and after."""
    parts.store.audit(
        AuditEntry(
            at_ms=parts.clock.now_ms(),
            who=actor.who,
            action=action,
            subject=after.event_id,
            before="" if before is None else _state(before),
            after=_state(after),
        )
    )


def _state(sale: Sale) -> str:
    paused = ", allocation paused" if sale.allocation_paused else ""
    return f"version {sale.version}: {sale.status}{paused}"
