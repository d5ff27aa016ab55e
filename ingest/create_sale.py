"""Staff define a sale: its seats are opened first, so that a sale that can be seen can be sold."""

from __future__ import annotations

from msgspec.structs import replace

from ingest.audit_trail import Actor, write_audit
from ingest.parts import Parts
from shared.domain.errors import Conflicting, NotFound
from shared.domain.sale import Sale

_OTHER = "Another sale stands under this event id; choose another id or repeat the very same definition."


def create_sale(parts: Parts, sale: Sale, actor: Actor) -> tuple[Sale, bool]:
    """Store a new sale; return it, and whether it is new. The same definition again returns what stands.

    Raises Conflicting when the event id has another definition.
    """
    standing = _standing(parts, sale)
    if standing is not None:
        # Audited again: the first attempt may have died between the sale and its entry.
        write_audit(parts, actor, "create_sale", before=standing, after=standing)
        return standing, False
    parts.store.open_inventory(sale)
    # Somebody may have been opening another definition's seats under this id at the same moment.
    for pool in sale.pools:
        state = parts.store.get_pool(sale, pool.pool_id)
        if state.capacity != pool.capacity or len(state.slices) != pool.slices:
            raise Conflicting(_OTHER, code="other-definition")
    created = parts.store.create_sale(sale)
    if not _same_definition(created, sale):
        raise Conflicting(_OTHER, code="other-definition")
    write_audit(parts, actor, "create_sale", before=None, after=created)
    parts.sales.forget(sale.event_id)
    return created, created.salt == sale.salt


def _standing(parts: Parts, sale: Sale) -> Sale | None:
    try:
        standing = parts.store.get_sale(sale.event_id).sale
    except NotFound:
        return None
    if not _same_definition(standing, sale):
        raise Conflicting(_OTHER, code="other-definition")
    return standing


def _same_definition(standing: Sale, wanted: Sale) -> bool:
    """Compare what staff define; what the system added or staff changed since does not count."""
    return standing == replace(
        wanted,
        salt=standing.salt,
        shard_counts=(*wanted.shard_counts, *standing.shard_counts[1:]),
        status=standing.status,
        allocation_paused=standing.allocation_paused,
        version=standing.version,
    )
