"""Who gets seats: a pure function from what is free and who waits to decisions.

Orders are looked at oldest first; one that does not fit lets smaller ones behind it pass. A party is served whole or
not at all. A batch takes at most one order per buyer, so that one transaction raises each buyer's counter once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shared.domain.order import Reason, WorkHint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Stock(Struct, frozen=True):
    """What one allocation group may give out of one pool, and the pool's round."""

    unsold: int
    round: int
    sold_out: bool


class Rejection(Struct, frozen=True):
    """An order that will not be served, and why."""

    hint: WorkHint
    reason: Reason


class Decisions(Struct, frozen=True):
    """What to do with the orders that were looked at.

    `hold` goes into one transaction. `lacking` maps pools to the seats that the oldest order that did not fit lacks,
    empty when all fitted; `unfit` are the orders that did not fit, oldest first. `passed_over` are orders to be
    looked at again with the next batch (a second order of a buyer, or beyond the batch's size).
    """

    hold: tuple[WorkHint, ...]
    reject: tuple[Rejection, ...]
    unfit: tuple[WorkHint, ...]
    passed_over: tuple[WorkHint, ...]
    lacking: Mapping[str, int]


def allocate(
    waiting: Sequence[WorkHint],
    stock: Mapping[str, Stock],
    *,
    batch_size: int,
    buyer_counts: Mapping[str, int],
    max_per_buyer: int | None,
) -> Decisions:
    """Decide over `waiting`, which stands in line order.

    `stock` has an entry for every pool of the sale; `buyer_counts` the tickets that each buyer has already, absent for
    none.
    """
    free = {pool_id: part.unsold for pool_id, part in stock.items()}
    hold: list[WorkHint] = []
    reject: list[Rejection] = []
    unfit: list[WorkHint] = []
    passed_over: list[WorkHint] = []
    lacking: dict[str, int] = {}
    buyers: set[str] = set()
    for hint in waiting:
        reason = _why_reject(hint, stock, buyer_counts, max_per_buyer)
        if reason is not None:
            reject.append(Rejection(hint, reason))
        elif len(hold) >= batch_size or (max_per_buyer is not None and hint.buyer_id in buyers):
            passed_over.append(hint)
        elif all(want.quantity <= free[want.pool_id] for want in hint.demand):
            for want in hint.demand:
                free[want.pool_id] -= want.quantity
            buyers.add(hint.buyer_id)
            hold.append(hint)
        else:
            lacking = lacking or {
                want.pool_id: want.quantity - free[want.pool_id]
                for want in hint.demand
                if want.quantity > free[want.pool_id]
            }
            unfit.append(hint)
    return Decisions(tuple(hold), tuple(reject), tuple(unfit), tuple(passed_over), lacking)


def _why_reject(
    hint: WorkHint, stock: Mapping[str, Stock], buyer_counts: Mapping[str, int], max_per_buyer: int | None
) -> Reason | None:
    for want in hint.demand:
        part = stock[want.pool_id]
        if want.round < part.round or (want.round == part.round and part.sold_out):
            return Reason.SOLD_OUT
    wanted = sum(want.quantity for want in hint.demand)
    if max_per_buyer is not None and buyer_counts.get(hint.buyer_id, 0) + wanted > max_per_buyer:
        return Reason.OVER_BUYER_LIMIT
    return None
