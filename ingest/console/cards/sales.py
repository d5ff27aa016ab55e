"""Seats as the inventory counts them, and the sum that must always hold."""

from __future__ import annotations

from ingest.console.look import Look
from ingest.console.shapes import PoolSum, SalesCard, TypeSales
from ingest.responses import money_answer
from shared.domain.inventory import PoolState
from shared.domain.sale import TicketType
from shared.ports.control import Word

# A pool's counters are several items: while seats move between them, one reading may see half of a move.
READINGS = 3


def sales_card(look: Look) -> SalesCard:
    """Read every pool, a second and third time where the sum is not right at first."""
    pools = [_sum(look, pool.pool_id) for pool in look.sale.pools]
    return SalesCard(as_of=look.as_of, types=[_type(look, kind) for kind in look.sale.ticket_types], pools=pools)


def _sum(look: Look, pool_id: str) -> PoolSum:
    state = look.parts.store.get_pool(look.sale, pool_id)
    before = None
    for _ in range(READINGS - 1):
        if state.balanced or state == before:
            break
        before, state = state, look.parts.store.get_pool(look.sale, pool_id)
    return PoolSum(
        pool_id=pool_id,
        capacity=state.capacity,
        unassigned=state.unassigned,
        unsold=state.unsold,
        taken=state.taken,
        withheld=state.withheld,
        round=state.round,
        sold_out=state.sold_out,
        balanced=_verdict(state, before),
    )


def _verdict(state: PoolState, before: PoolState | None) -> bool | None:
    """Say whether the sum holds; None while it cannot be told, for the counters moved between all readings."""
    if state.balanced:
        return True
    return False if state == before else None


def _type(look: Look, kind: TicketType) -> TypeSales:
    notice = look.view.notice
    pool = notice.pools.get(kind.pool_id) if notice is not None else None
    return TypeSales(
        ticket_type_id=kind.ticket_type_id,
        name=kind.name,
        price=money_answer(look.sale.price(kind)),
        pool_id=kind.pool_id,
        availability=Word.AVAILABLE if pool is None else pool.word,
        shares_pool_with=[
            other.name for other in look.sale.ticket_types if other.pool_id == kind.pool_id and other is not kind
        ],
    )
