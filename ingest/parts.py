"""What the door is made of: everything from outside, handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aws_lambda_powertools import Logger

from ingest.admission import Admission
from ingest.health import Health
from ingest.poll_pace import READS_PER_S
from ingest.sale_cache import SaleCache
from shared.domain.money import Money
from shared.ports import Clock, Ids, Store


class ChargeCheck(Protocol):
    """Knows what the payment service can charge."""

    def __call__(self, price: Money, *, most: int = 1) -> None:
        """Raise Invalid with the reason when the price, once or `most` times, cannot be charged exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """One process's parts, shared by all its threads."""

    store: Store
    clock: Clock
    ids: Ids
    sales: SaleCache
    admission: Admission
    health: Health
    check_chargeable: ChargeCheck
    logger: Logger
    reads_per_s: float


def make_parts(
    store: Store,
    clock: Clock,
    ids: Ids,
    *,
    processes: int,
    check_chargeable: ChargeCheck,
    logger: Logger,
    reads_per_s: float = READS_PER_S,
) -> Parts:
    """Put a process's parts together; `processes` is how many share each sale's budget.

    `reads_per_s` is what the waiting buyers of one sale are told to stay within when they look again.
    """
    return Parts(
        store=store,
        clock=clock,
        ids=ids,
        sales=SaleCache(store, clock),
        admission=Admission(clock, ids, processes=processes),
        health=Health(store, clock),
        check_chargeable=check_chargeable,
        logger=logger,
        reads_per_s=reads_per_s,
    )
