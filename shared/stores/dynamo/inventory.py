"""Seats as counters that only transactions move, each on the condition that the seats are there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shared.domain.errors import Broken, NotFound
from shared.ports.inventory import HoldOutcome
from shared.ports.orders import Saved
from shared.stores.dynamo import seats as s
from shared.stores.dynamo.base import Base
from shared.stores.dynamo.errors import Cancelled
from shared.stores.dynamo.hold import hold_actions, hold_outcome
from shared.stores.dynamo.orders import lost_race, replacement
from shared.stores.limits import check_batch, check_buyers
from shared.stores.wire import Item, from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.domain.inventory import PoolState
    from shared.domain.order import Order
    from shared.domain.pool_change import PoolChange
    from shared.domain.sale import Sale
    from shared.ports.inventory import HoldBatch
    from shared.stores.dynamo.expressions import Body


class Inventory(Base):
    """Implements `InventoryStore`."""

    def open_inventory(self, sale: Sale) -> None:
        for pool in sale.pools:
            try:
                self._calls.transact(s.opening(self._tables.inventory, sale.event_id, pool))
            except Cancelled:
                continue  # a pool and its slices are created in one transaction: one stands, so all do

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        pool = sale.pool(pool_id)
        keys = [s.pool_key(sale.event_id, pool_id)]
        keys += [s.slice_key(sale.event_id, pool_id, slice_no) for slice_no in range(pool.slices)]
        try:
            state = s.read_pool(sale.event_id, pool, _by_key(self._read_all(self._tables.inventory, keys)))
            if not state.balanced:
                # Seats moved between two items while they were read one by one. A transactional read shows one
                # moment, but is refused while others write, so it is only the second choice.
                state = s.read_pool(sale.event_id, pool, _by_key(self._read_at_once(keys)))
        except KeyError:
            raise NotFound(f"The pool {pool_id!r} was never opened.") from None
        return state

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        check_buyers(buyer_ids)
        keys = {s.buyer_key(event_id, buyer_id)["pk"]: buyer_id for buyer_id in buyer_ids}
        items = self._read_all(self._tables.inventory, [{"pk": pk} for pk in keys])
        return {keys[item["pk"]]: item["taken"] for item in items}

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        check_batch(batch)
        planned = hold_actions(batch, self._tables)
        try:
            self._calls.transact([part.action for part in planned], name=("hold", batch.event_id, batch.op))
        except Cancelled as cancelled:
            return hold_outcome(batch.op, planned, cancelled)
        return HoldOutcome(held=True)

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        actions: list[Body] = [{"Put": replacement(self._tables.orders, order, seen_rev)}]
        actions += self._giving_back(order, withhold=withhold)
        if max_per_buyer is not None:
            key = s.buyer_key(order.key.event_id, order.buyer_id)
            counter = s.count_down(self._tables.inventory, key, order.quantity)
            try:
                return self._released("release and count", order, [*actions, counter])
            except Cancelled as cancelled:
                if any(verdict.failed for verdict in cancelled.verdicts[:-1]):
                    raise _not_taken(order) from None
                # Held before the sale had a limit: the counter does not know of this order, and stays as it is.
        try:
            return self._released("release", order, actions)
        except Cancelled:
            raise _not_taken(order) from None

    def draw(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._move(event_id, pool_id, slice_no, seats, name=("draw", event_id, op))

    def give_back(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        return self._move(event_id, pool_id, slice_no, -seats, name=("give back", event_id, op))

    def change_pool(self, event_id: str, pool_id: str, change: PoolChange, *, op: str) -> bool:
        table = self._tables.inventory
        actions = [s.change(table, s.pool_key(event_id, pool_id), change)]
        actions += [
            s.move(table, s.slice_key(event_id, pool_id, slice_no), "unsold", seats)
            for slice_no, seats in change.unsold.items()
        ]
        try:
            self._calls.transact(actions, name=("change pool", event_id, op))
        except Cancelled:
            return False
        return True

    def decide_sold_out(self, sale: Sale, pool_id: str, *, seen_round: int, op: str) -> bool:
        table = self._tables.inventory
        actions = [s.mark_sold_out(table, s.pool_key(sale.event_id, pool_id), seen_round, op)]
        actions += [
            s.has_no_unsold(table, s.slice_key(sale.event_id, pool_id, slice_no))
            for slice_no in range(sale.pool(pool_id).slices)
        ]
        try:
            self._calls.transact(actions, name=("sold out", sale.event_id, op))
        except Cancelled as cancelled:
            pool = cancelled.verdicts[0]
            cancelled.need(decided=pool.failed)
            return _own(pool.item, op)
        return True

    def reopen_pool(self, event_id: str, pool_id: str, *, seen_round: int, op: str) -> bool:
        # One action, and a transaction all the same: its token knows a repeated call whatever came in between.
        action = s.unmark_sold_out(self._tables.inventory, s.pool_key(event_id, pool_id), seen_round, op)
        try:
            self._calls.transact([action], name=("reopen", event_id, op))
        except Cancelled as cancelled:
            return _own(cancelled.verdicts[0].item, op)
        return True

    def _released(self, what: str, order: Order, actions: Sequence[Body]) -> Saved:
        """Carry the release out; Cancelled when something else than the order, its first action, is in the way."""
        try:
            self._calls.transact(actions, name=(what, order.key.event_id, order.op))
        except Cancelled as cancelled:
            first = cancelled.verdicts[0]
            cancelled.need(decided=first.failed)
            if not first.failed:
                raise
            return lost_race(order, first.item)
        return Saved(order, done=True)

    def _move(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, name: tuple[str, ...]) -> bool:
        """Move seats from the pool into a slice, or back when negative.

        A repeated move is recognised by its token for ten minutes; repeated later it moves as many seats again, which
        costs a move back and sells no seat twice.
        """
        table = self._tables.inventory
        actions = [
            s.move(table, s.pool_key(event_id, pool_id), "unassigned", -seats),
            s.move(table, s.slice_key(event_id, pool_id, slice_no), "unsold", seats),
        ]
        try:
            self._calls.transact(actions, name=name)
        except Cancelled:
            return False
        return True

    def _giving_back(self, order: Order, *, withhold: bool) -> list[Body]:
        """Count an order's seats back, slice by slice; withheld ones also in their pools."""
        table, event_id = self._tables.inventory, order.key.event_id
        slices: Counter[tuple[str, int]] = Counter()
        pools: Counter[str] = Counter()
        for part in order.seats:
            slices[part.pool_id, part.slice_no] += part.quantity
            pools[part.pool_id] += part.quantity
        actions = [
            s.untake(table, s.slice_key(event_id, pool_id, slice_no), seats, withhold=withhold)
            for (pool_id, slice_no), seats in slices.items()
        ]
        if withhold:
            actions += [s.withhold_in(table, s.pool_key(event_id, pool_id), seats) for pool_id, seats in pools.items()]
        return actions

    def _read_at_once(self, keys: Sequence[Item]) -> list[Item]:
        gets = [{"Get": {"TableName": self._tables.inventory, "Key": to_wire(key)}} for key in keys]
        answer = self._calls.read("transact_get_items", {"TransactItems": gets})
        return [from_wire(part["Item"]) for part in answer["Responses"] if part.get("Item")]


def _by_key(items: Sequence[Item]) -> dict[str, Item]:
    return {item["pk"]: item for item in items}


def _own(pool_item: Item | None, op: str) -> bool:
    return pool_item is not None and pool_item.get("round_op") == op


def _not_taken(order: Order) -> Broken:
    return Broken(f"The seats of order {order.key.order_id} are not counted as taken.")
