"""Staff give a pool more or fewer seats, set seats aside, and release them again, while the sale runs."""

from __future__ import annotations

from collections.abc import Callable

from ingest.audit_trail import Actor, audit
from ingest.change_sale import standing_sale, write_change
from ingest.parts import Parts
from shared.domain.errors import Contended
from shared.domain.inventory import PoolState
from shared.domain.pool_change import PoolChange, to_capacity, to_withheld
from shared.domain.sale import Sale

# Each further try means that seats moved between our read and our write.
MAX_TRIES = 8


def change_capacity(parts: Parts, event_id: str, pool_id: str, actor: Actor, *, capacity: int) -> PoolState:
    """Give a pool `capacity` seats in all. Conflicting, with the lowest number possible, below what is taken."""
    return _change(parts, event_id, pool_id, actor, "change_capacity", lambda pool: to_capacity(pool, capacity))


def change_withheld(parts: Parts, event_id: str, pool_id: str, actor: Actor, *, withheld: int) -> PoolState:
    """Keep `withheld` seats of a pool from being sold. Conflicting, with the highest number possible, above that."""
    return _change(parts, event_id, pool_id, actor, "change_withheld", lambda pool: to_withheld(pool, withheld))


def _change(
    parts: Parts,
    event_id: str,
    pool_id: str,
    actor: Actor,
    action: str,
    decide: Callable[[PoolState], PoolChange | None],
) -> PoolState:
    """Change the counters, then the sale's definition after them; a repeat finishes what is left undone."""
    sale = standing_sale(parts, event_id).sale
    sale.pool(pool_id)
    before = _write(parts, sale, pool_id, decide)

    def follow(sale: Sale) -> Sale:
        # Read after the sale: of two members of staff the later one to write the sale has seen the pool as it is.
        return sale.with_capacity(pool_id, parts.store.get_pool(sale, pool_id).capacity)

    _, after = write_change(parts, event_id, follow)
    pool = parts.store.get_pool(after, pool_id)
    audit(parts, actor, action, subject=f"{event_id}/{pool_id}", before=_state(before), after=_state(pool))
    return pool


def _write(parts: Parts, sale: Sale, pool_id: str, decide: Callable[[PoolState], PoolChange | None]) -> PoolState:
    for _ in range(MAX_TRIES):
        pool = parts.store.get_pool(sale, pool_id)
        change = decide(pool)
        if change is None or parts.store.change_pool(sale.event_id, pool_id, change, op=parts.ids.op_id()):
            return pool
    raise Contended


def _state(pool: PoolState) -> str:
    return f"{pool.capacity} seats, {pool.withheld} withheld, {pool.taken} taken"
