"""What the door is made of: everything from outside, handed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from aws_lambda_powertools import Logger
from msgspec import Struct, field

from ingest.admission import Admission
from ingest.buyer_guard import BuyerGuard
from ingest.console.board import FrameBoard
from ingest.health import Health
from ingest.insight import Insight
from ingest.kept import Kept
from ingest.marked_buyers import MarkedBuyers, nobody
from ingest.poll_pace import READS_PER_S
from ingest.sale_cache import SaleCache
from shared.domain.errors import Unavailable
from shared.domain.money import Money
from shared.metering.watch import Watch
from shared.system import THREADS

if TYPE_CHECKING:
    from ingest.queue_look import QueueLook
    from shared.ports.buyer_orders import BuyerOrdersStore
    from shared.ports.payment import NoticeReader
    from shared.ports.store import Store
    from shared.ports.system import Clock, Ids, Waiting


class ChargeCheck(Protocol):
    """Knows what the payment service can charge."""

    def __call__(self, price: Money, *, most: int = 1) -> None:
        """Raise Invalid with the reason when the price, once or `most` times, cannot be charged exactly."""
        ...


def _no_webhooks() -> NoticeReader:
    raise Unavailable("Webhooks are not set up here; set ONSALE_WEBHOOK_SECRETS.")


def _no_copies() -> BuyerOrdersStore:
    raise Unavailable("No lists of buyers' orders are kept here.")


class Parts(Struct, frozen=True):
    """One process's parts, shared by all its threads.

    `reads_per_s` is what the waiting buyers of one sale are told to stay within when they look again. `open_notices`
    is called by the first webhook and not before: what verifies it takes long to load. `open_copies` is called by
    every reader of a buyer's list, and opens once. `looks` and `progress` are kept for a moment. `limits_scale` is
    the part of DynamoDB's limits that stands before the store.
    """

    store: Store
    clock: Clock
    ids: Ids
    sales: SaleCache
    admission: Admission
    health: Health
    check_chargeable: ChargeCheck
    logger: Logger
    guard: BuyerGuard
    insight: Insight
    looks: Kept[QueueLook]
    progress: Kept[int | None]
    reads_per_s: float = READS_PER_S
    limits_scale: float = 1.0
    open_notices: Callable[[], NoticeReader] = _no_webhooks
    open_copies: Callable[[], BuyerOrdersStore] = _no_copies
    board: FrameBoard = field(default_factory=FrameBoard)


def make_parts(
    store: Store,
    clock: Clock,
    ids: Ids,
    *,
    processes: int,
    check_chargeable: ChargeCheck,
    logger: Logger,
    waiting: Waiting = THREADS,
) -> Parts:
    """Put a process's parts together; `processes` is how many share each sale's budget.

    Requests for orders wait by `waiting`.
    """
    sales = SaleCache(store, clock, waiting)
    return Parts(
        store=store,
        clock=clock,
        ids=ids,
        sales=sales,
        admission=Admission(clock, ids, store, sales.may_call, processes=processes),
        health=Health(store, clock),
        check_chargeable=check_chargeable,
        logger=logger,
        guard=BuyerGuard(clock, ids, MarkedBuyers(nobody, clock)),
        insight=Insight(Watch(clock)),
        looks=Kept(clock),
        progress=Kept(clock, keep_s=0.5),
    )
