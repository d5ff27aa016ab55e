"""Who changed what: written for every change by staff, by whatever door."""

from __future__ import annotations

from msgspec import Struct

from ingest.parts import Parts
from shared.domain.order import Order
from shared.domain.sale import Sale
from shared.ports.control import AuditEntry


class Actor(Struct, frozen=True):
    """The member of staff, by the token's subject."""

    who: str


def write_audit(parts: Parts, actor: Actor, action: str, *, before: Sale | None, after: Sale) -> None:
    """Append one entry: the sale's state before and after."""
    audit(
        parts,
        actor,
        action,
        subject=after.event_id,
        before="" if before is None else _state(before),
        after=_state(after),
    )


def audit_order(parts: Parts, actor: Actor, action: str, *, before: Order, after: Order) -> None:
    """Append one entry: the order's status and refund before and after."""
    subject = f"{after.key.event_id}/{after.key.order_id}"
    audit(parts, actor, action, subject=subject, before=_money(before), after=_money(after))


def audit(parts: Parts, actor: Actor, action: str, *, subject: str, before: str, after: str) -> None:
    """Append one entry."""
    parts.store.audit(
        AuditEntry(
            at_ms=parts.clock.now_ms(), who=actor.who, action=action, subject=subject, before=before, after=after
        )
    )


def _state(sale: Sale) -> str:
    paused = ", allocation paused" if sale.allocation_paused else ""
    return f"version {sale.version}: {sale.status}{paused}"


def _money(order: Order) -> str:
    payment = order.payment
    return f"rev {order.rev}: {order.status}, {payment.refund_due_minor} of {payment.captured_minor} to be paid back"
