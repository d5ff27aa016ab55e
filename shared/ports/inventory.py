"""Seats as counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.domain.inventory import PoolState
    from shared.domain.order import Order, WorkHint
    from shared.domain.order_id import OrderKey
    from shared.domain.pool_change import PoolChange
    from shared.domain.sale import Sale
    from shared.ports.orders import Saved


class HoldBatch(Struct, frozen=True):
    """One allocating transaction: every order moves queued → held, its slices go down by the batch's sums.

    `slices` names the slice of each pool that is drawn on. With `max_per_buyer` each buyer's counter rises by the
    order's quantity, on condition that the limit holds; a batch then has at most one order per buyer. Each order's
    older homes are closed by tombstones, on condition that nothing stands there.
    """

    event_id: str
    op: str
    now_ms: int
    hold_ends_at_ms: int
    orders: tuple[WorkHint, ...]
    slices: Mapping[str, int]
    max_per_buyer: int | None


class HoldOutcome(Struct, frozen=True):
    """What became of a batch, all or nothing.

    When `held` is False the other fields say why: `gone` orders are no longer queued, `short` pools have too few
    unsold seats in the slice, `over_limit` buyers would exceed their limit, for `superseded` orders another one stands,
    whose id it is.
    """

    held: bool
    gone: frozenset[OrderKey] = frozenset()
    short: frozenset[str] = frozenset()
    over_limit: frozenset[str] = frozenset()
    superseded: Mapping[OrderKey, str] = field(default_factory=dict)


class InventoryStore(Protocol):
    """Seats as counters; no method reads before it writes outside one transaction.

    A call repeated under its `op` within ten minutes of the first is recognised as done and changes nothing, whatever
    others wrote in between; an answer of False, or `held` False, changed nothing and is not remembered. `release` is
    recognised, as `save` is, until somebody writes on top of it.
    """

    def open_inventory(self, sale: Sale) -> None:
        """Create the counters of a new sale's pools; what already stands is left alone."""
        ...

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        """Read one pool with its slices, consistently. NotFound when it was never opened."""
        ...

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        """Read the per-buyer counters; buyers without one are absent. At most 100 buyers."""
        ...

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        """Carry out one allocating transaction of at most `limits.MAX_BATCH` orders."""
        ...

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        """Write `order` on condition of `seen_rev` and give back its `seats`, in one transaction.

        The seats go back to their slices, or to the pool's `withheld` count. With `max_per_buyer` the buyer's counter
        goes down by the order's quantity. `order` keeps `seats` as a record of where they came from.
        """
        ...

    def draw(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        """Move unassigned seats of the pool into a slice; False when the pool has fewer."""
        ...

    def give_back(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        """Move unsold seats of a slice back to the pool; False when the slice has fewer."""
        ...

    def change_pool(self, event_id: str, pool_id: str, change: PoolChange, *, op: str) -> bool:
        """Carry out a change by staff, all or nothing.

        False when the pool's capacity or withheld seats are no longer those seen, or a counter would fall below 0.
        """
        ...

    def decide_sold_out(self, sale: Sale, pool_id: str, *, seen_round: int, op: str) -> bool:
        """Raise the pool's round and mark it sold out.

        Only if `round` is still `seen_round`, it is not marked yet, and pool and slices have no seat left; else False.
        """
        ...

    def reopen_pool(self, event_id: str, pool_id: str, *, seen_round: int, op: str) -> bool:
        """Take the mark off a sold-out pool to which seats came back; False when its round has moved."""
        ...
