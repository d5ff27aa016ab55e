"""A store around a store: every method goes through one gate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shared.domain.inventory import PoolState
    from shared.domain.order import Lane, Order
    from shared.domain.order_id import OrderKey
    from shared.domain.pool_change import PoolChange
    from shared.domain.sale import Sale
    from shared.ports.control import AuditEntry, CheckReport, GrantTurn, Member, Notice, SaleView
    from shared.ports.inventory import HoldBatch, HoldOutcome
    from shared.ports.orders import Accepted, HintPage, OrderPage, Saved
    from shared.ports.store import Store

T = TypeVar("T")


class WrappedStore(ABC):
    """Implements `Store` by handing every call of `inner` to `_through`."""

    def __init__(self, inner: Store) -> None:
        """Stand before `inner`."""
        self._inner = inner

    @abstractmethod
    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:
        """Carry out `run`, a call of `method`; `place` is the partition or counter that it weighs on."""

    def accept(self, order: Order) -> Accepted:
        return self._through("accept", order.key.partition, lambda: self._inner.accept(order))

    def get_order(self, key: OrderKey) -> Order | None:
        return self._through("get_order", key.partition, lambda: self._inner.get_order(key))

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        return self._through("save", order.key.partition, lambda: self._inner.save(order, seen_rev=seen_rev))

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        return self._through(
            "due",
            f"{event_id}#{shard}",
            lambda: self._inner.due(event_id, shard, lane, until_ms=until_ms, limit=limit, cursor=cursor),
        )

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        return self._through(
            "list_orders",
            f"{event_id}#{shard}",
            lambda: self._inner.list_orders(event_id, shard, limit=limit, cursor=cursor),
        )

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        return self._through(
            "depth", f"{event_id}#{shard}", lambda: self._inner.depth(event_id, shard, lane, most=most)
        )

    def open_inventory(self, sale: Sale) -> None:
        self._through("open_inventory", sale.event_id, lambda: self._inner.open_inventory(sale))

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        return self._through("get_pool", f"{sale.event_id}/{pool_id}", lambda: self._inner.get_pool(sale, pool_id))

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        return self._through("buyer_counts", event_id, lambda: self._inner.buyer_counts(event_id, buyer_ids))

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        place = "+".join(f"{batch.event_id}/{pool}/{part}" for pool, part in sorted(batch.slices.items()))
        return self._through("hold_batch", place, lambda: self._inner.hold_batch(batch))

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        return self._through(
            "release",
            order.key.partition,
            lambda: self._inner.release(order, seen_rev=seen_rev, withhold=withhold, max_per_buyer=max_per_buyer),
        )

    def draw(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._through(
            "draw", f"{event_id}/{pool_id}", lambda: self._inner.draw(event_id, pool_id, slice_no, seats, op=op)
        )

    def give_back(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._through(
            "give_back",
            f"{event_id}/{pool_id}",
            lambda: self._inner.give_back(event_id, pool_id, slice_no, seats, op=op),
        )

    def change_pool(self, event_id: str, pool_id: str, change: PoolChange, *, op: str) -> bool:
        return self._through(
            "change_pool", f"{event_id}/{pool_id}", lambda: self._inner.change_pool(event_id, pool_id, change, op=op)
        )

    def decide_sold_out(self, sale: Sale, pool_id: str, *, seen_round: int, op: str) -> bool:
        return self._through(
            "decide_sold_out",
            f"{sale.event_id}/{pool_id}",
            lambda: self._inner.decide_sold_out(sale, pool_id, seen_round=seen_round, op=op),
        )

    def reopen_pool(self, event_id: str, pool_id: str, *, seen_round: int, op: str) -> bool:
        return self._through(
            "reopen_pool",
            f"{event_id}/{pool_id}",
            lambda: self._inner.reopen_pool(event_id, pool_id, seen_round=seen_round, op=op),
        )

    def create_sale(self, sale: Sale) -> Sale:
        return self._through("create_sale", sale.event_id, lambda: self._inner.create_sale(sale))

    def get_sale(self, event_id: str) -> SaleView:
        return self._through("get_sale", event_id, lambda: self._inner.get_sale(event_id))

    def save_sale(self, sale: Sale, *, seen_version: int) -> bool:
        return self._through("save_sale", sale.event_id, lambda: self._inner.save_sale(sale, seen_version=seen_version))

    def list_sales(self) -> tuple[SaleView, ...]:
        return self._through("list_sales", "sales", self._inner.list_sales)

    def publish(self, event_id: str, notice: Notice) -> None:
        self._through("publish", event_id, lambda: self._inner.publish(event_id, notice))

    def take_grant(self, event_id: str, grant_no: int, *, seen: int, op: str) -> GrantTurn:
        return self._through(
            "take_grant",
            f"{event_id}/grant-{grant_no}",
            lambda: self._inner.take_grant(event_id, grant_no, seen=seen, op=op),
        )

    def beat(self, member: Member) -> None:
        self._through("beat", "members", lambda: self._inner.beat(member))

    def leave(self, member: Member) -> None:
        self._through("leave", "members", lambda: self._inner.leave(member))

    def members(self) -> tuple[Member, ...]:
        return self._through("members", "members", self._inner.members)

    def note_check(self, report: CheckReport) -> None:
        self._through("note_check", "checks", lambda: self._inner.note_check(report))

    def list_checks(self) -> tuple[CheckReport, ...]:
        return self._through("list_checks", "checks", self._inner.list_checks)

    def audit(self, entry: AuditEntry) -> None:
        self._through("audit", "audit", lambda: self._inner.audit(entry))

    def list_audit(self, *, limit: int) -> tuple[AuditEntry, ...]:
        return self._through("list_audit", "audit", lambda: self._inner.list_audit(limit=limit))

    def close(self) -> None:
        self._inner.close()
