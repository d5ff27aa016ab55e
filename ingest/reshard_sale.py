"""Staff grow the shard count of a sale, running or not.

Nothing depends on when other processes hear of it: orders stay where they are, and whoever still writes by an older
map is told by tombstones.
"""

from __future__ import annotations

from ingest.audit_trail import Actor, audit
from ingest.change_sale import write_change
from ingest.parts import Parts
from shared.domain.sale import Sale


def reshard_sale(parts: Parts, event_id: str, actor: Actor, *, shards: int) -> Sale:
    """Give the sale `shards` shards; the same number again changes nothing. Conflicting when it cannot have them."""
    before, after = write_change(parts, event_id, lambda sale: sale.resharded(shards))
    audit(parts, actor, "reshard_sale", subject=event_id, before=_state(before), after=_state(after))
    return after


def _state(sale: Sale) -> str:
    return f"map {sale.map_version}: {sale.shards} shards"
