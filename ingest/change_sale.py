"""Staff pause, resume, close and cancel a sale."""

from __future__ import annotations

from collections.abc import Callable

from ingest.audit_trail import Actor, write_audit
from ingest.parts import Parts
from shared.domain.errors import Conflicting, NotFound
from shared.domain.sale import Sale, SaleStatus, is_name
from shared.ports.control import SaleView

# Each further try means that somebody else changed the sale between our read and our write.
MAX_TRIES = 3


def pause_sale(parts: Parts, event_id: str, actor: Actor, *, allocation_too: bool) -> Sale:
    """Take no more orders, and with `allocation_too` give out no more seats; payment and expiry go on."""
    return _change(parts, event_id, actor, "pause_sale", SaleStatus.PAUSED, allocation_paused=allocation_too)


def resume_sale(parts: Parts, event_id: str, actor: Actor) -> Sale:
    """Take orders and give out seats again."""
    return _change(parts, event_id, actor, "resume_sale", SaleStatus.ACTIVE)


def close_sale(parts: Parts, event_id: str, actor: Actor) -> Sale:
    """Take no more orders for good; who is in line is still served while seats last."""
    return _change(parts, event_id, actor, "close_sale", SaleStatus.CLOSED)


def cancel_sale(parts: Parts, event_id: str, actor: Actor) -> Sale:
    """Call the event off for good: who is in line is refused, held seats come back, nothing more is charged.

    Confirmed orders keep their money until it is ordered back.
    """
    return _change(parts, event_id, actor, "cancel_sale", SaleStatus.CANCELLED)


def standing_sale(parts: Parts, event_id: str) -> SaleView:
    """Read a sale past the cache; NotFound before anything a sender wrote becomes part of a key."""
    if not is_name(event_id):
        raise NotFound("There is no such event.")
    return parts.store.get_sale(event_id)


def _change(
    parts: Parts, event_id: str, actor: Actor, action: str, status: SaleStatus, *, allocation_paused: bool = False
) -> Sale:
    def change(sale: Sale) -> Sale:
        after = sale.changed(status, allocation_paused=allocation_paused)
        unchanged = sale.status is status and sale.allocation_paused == allocation_paused
        return sale if unchanged else after

    before, after = write_change(parts, event_id, change)
    write_audit(parts, actor, action, before=before, after=after)
    return after


def write_change(parts: Parts, event_id: str, change: Callable[[Sale], Sale]) -> tuple[Sale, Sale]:
    """Write a change on condition of the version, and return the sale before and after it.

    A change that returns the sale as it is writes nothing. Whoever asks audits that as well: the first attempt may
    have died between the change and its audit entry.
    """
    for _ in range(MAX_TRIES):
        before = standing_sale(parts, event_id).sale
        after = change(before)
        if after == before or parts.store.save_sale(after, seen_version=before.version):
            parts.sales.forget(event_id)
            return before, after
    raise Conflicting("Somebody else is changing this sale; read it again before deciding.", code="version-conflict")
