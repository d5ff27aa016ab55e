"""What staff are answered: the whole definition but the salt, and the seats as the inventory counts them."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer, MoneyAnswer, money_answer
from shared.domain.inventory import PoolState
from shared.domain.sale import Sale, SaleStatus, WhenShort
from shared.domain.times import format_time_ms
from shared.ports.control import Notice, SaleView


class StaffPoolAnswer(Answer):
    """A pool; the counts are read consistently and are absent in lists."""

    pool_id: str
    capacity: int
    slices: int
    unassigned: int | None = Field(default=None, description="Seats in no slice yet.")
    unsold: int | None = Field(default=None, description="Seats in slices that may be given out.")
    taken: int | None = Field(default=None, description="Seats held or confirmed.")
    withheld: int | None = Field(default=None, description="Seats given back and not to be sold again.")
    round: int | None = None
    sold_out: bool | None = None


class StaffTypeAnswer(Answer):
    """A ticket type with its price."""

    ticket_type_id: str
    name: str
    pool_id: str
    price: MoneyAnswer


class NoticeAnswer(Answer):
    """What the workers last published."""

    as_of: str
    age_s: float
    waiting: int
    drained_per_s: float


class StaffSaleAnswer(Answer):
    """A sale as staff see it."""

    event_id: str
    name: str
    status: SaleStatus
    allocation_paused: bool
    version: int
    currency: str
    opens_at: str
    closes_at: str
    shards: int
    shards_in_all: int = Field(description="Shards that hold orders under any version of the map.")
    map_version: int
    max_per_order: int
    max_per_buyer: int | None = None
    hold_ttl_s: int
    accept_per_s: int
    when_short: WhenShort
    fulfilment: bool
    pools: list[StaffPoolAnswer]
    ticket_types: list[StaffTypeAnswer]
    notice: NoticeAnswer | None = None


class StaffSalesAnswer(Answer):
    """All sales."""

    sales: list[StaffSaleAnswer]


def staff_sale_answer(view: SaleView, now_ms: int, pools: tuple[PoolState, ...] = ()) -> StaffSaleAnswer:
    """Write a sale; `pools` adds the seats' counts."""
    sale = view.sale
    states = {state.pool_id: state for state in pools}
    return StaffSaleAnswer(
        event_id=sale.event_id,
        name=sale.name,
        status=sale.status,
        allocation_paused=sale.allocation_paused,
        version=sale.version,
        currency=sale.currency,
        opens_at=format_time_ms(sale.opens_at_ms),
        closes_at=format_time_ms(sale.closes_at_ms),
        shards=sale.shards,
        shards_in_all=max(sale.shard_counts),
        map_version=sale.map_version,
        max_per_order=sale.max_per_order,
        max_per_buyer=sale.max_per_buyer,
        hold_ttl_s=sale.hold_ttl_s,
        accept_per_s=sale.accept_per_s,
        when_short=sale.when_short,
        fulfilment=sale.fulfilment,
        pools=_pools(sale, states),
        ticket_types=[
            StaffTypeAnswer(
                ticket_type_id=kind.ticket_type_id,
                name=kind.name,
                pool_id=kind.pool_id,
                price=money_answer(sale.price(kind)),
            )
            for kind in sale.ticket_types
        ],
        notice=None if view.notice is None else _notice(view.notice, now_ms),
    )


def _pools(sale: Sale, states: dict[str, PoolState]) -> list[StaffPoolAnswer]:
    answers = []
    for pool in sale.pools:
        state = states.get(pool.pool_id)
        if state is None:
            answers.append(StaffPoolAnswer(pool_id=pool.pool_id, capacity=pool.capacity, slices=pool.slices))
        else:
            answers.append(
                StaffPoolAnswer(
                    pool_id=pool.pool_id,
                    capacity=state.capacity,
                    slices=len(state.slices),
                    unassigned=state.unassigned,
                    unsold=state.unsold,
                    taken=state.taken,
                    withheld=state.withheld,
                    round=state.round,
                    sold_out=state.sold_out,
                )
            )
    return answers


def _notice(notice: Notice, now_ms: int) -> NoticeAnswer:
    return NoticeAnswer(
        as_of=format_time_ms(notice.at_ms),
        age_s=max(0, now_ms - notice.at_ms) / 1000,
        waiting=notice.waiting,
        drained_per_s=notice.drained_per_s,
    )
