"""Random sales against a plain model: I1 after every step, and every answer the one the model gives."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.order import Demand, Line, Order, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch, HoldOutcome
from shared.ports.orders import Saved
from shared.ports.store import Store
from tests.builders import make_order, make_sale
from tests.contract.kinds import StoreKind
from tests.contract.steps import expired, hint

LIMIT = 5
BUYERS = st.sampled_from(["ann", "bob", "cyd"])
POOLS = st.sampled_from(["floor", "seats"])
SLICES = st.integers(0, 1)
POOLS_OF_SALE = (Pool("floor", 8, 2), Pool("seats", 4, 2))
runs = itertools.count()


class Counts:
    """One pool as the model keeps it."""

    def __init__(self, capacity: int) -> None:
        self.unassigned = capacity // 2
        self.unsold = [capacity // 4, capacity // 4]
        self.taken = [0, 0]
        self.withheld = 0
        self.round = 0
        self.sold_out = False

    @property
    def left(self) -> int:
        return self.unassigned + sum(self.unsold)


class Sales(RuleBasedStateMachine):
    """A sale of two pools in two slices each, under a limit per buyer, run beside its model."""

    store: Store
    kind: StoreKind

    def __init__(self) -> None:
        super().__init__()
        self.sale = make_sale(event_id=f"m{next(runs)}", pools=POOLS_OF_SALE, max_per_buyer=LIMIT)
        self.store.open_inventory(self.sale)
        self.pools = {pool.pool_id: Counts(pool.capacity) for pool in self.sale.pools}
        self.buyers: Counter[str] = Counter()
        self.orders: list[Order] = []
        self.ops = itertools.count()
        self.again: Callable[[], object] | None = None

    def op(self) -> str:
        return f"{self.sale.event_id}-{next(self.ops)}"

    def answers(self, expected: object, call: Callable[[], object], *, repeatable: bool) -> None:
        """Compare an answer with the model's; a repeatable call may be made again by a later step."""
        assert call() == expected
        self.again = call if repeatable else None

    def with_status(self, status: Status) -> list[int]:
        return [at for at, order in enumerate(self.orders) if order.status is status]

    def pick(self, data: st.DataObject, status: Status) -> int:
        return data.draw(st.sampled_from(self.with_status(status)))

    @rule(buyer=BUYERS, floor=st.integers(0, 3), seats=st.integers(0, 2))
    def accept(self, buyer: str, floor: int, seats: int) -> None:
        """Take an order over one pool or two."""
        wanted = [(pool_id, count) for pool_id, count in (("floor", floor), ("seats", seats)) if count]
        if not wanted:
            return
        order = replace(
            make_order(buyer=buyer, op=self.op()),
            key=OrderKey(self.sale.event_id, len(self.orders) % 4, f"order-{len(self.orders)}"),
            lines=(Line("standing", floor + seats, 2_500),),
            demand=tuple(Demand(pool_id, count, 0) for pool_id, count in wanted),
        )
        assert self.store.accept(order).created
        self.orders.append(order)
        self.again = lambda: self.store.accept(order)

    @precondition(lambda self: self.orders)
    @rule(data=st.data(), floor_slice=SLICES, seats_slice=SLICES, limited=st.booleans())
    def hold(self, data: st.DataObject, floor_slice: int, seats_slice: int, limited: bool) -> None:
        """Hold some orders of different buyers, some of which may no longer be queued."""
        chosen = data.draw(st.lists(st.sampled_from(range(len(self.orders))), min_size=1, max_size=3, unique=True))
        by_buyer = {self.orders[at].buyer_id: at for at in chosen}
        slices = {"floor": floor_slice, "seats": seats_slice}
        waiting = [replace(self.orders[at], status=Status.QUEUED, duties={}) for at in by_buyer.values()]
        batch = HoldBatch(
            event_id=self.sale.event_id,
            op=self.op(),
            now_ms=20_000,
            hold_ends_at_ms=80_000,
            orders=tuple(hint(order) for order in waiting),
            slices=slices,
            max_per_buyer=LIMIT,
        )
        expected = self.verdict(list(by_buyer.values()), slices)
        self.answers(expected, lambda: self.store.hold_batch(batch), repeatable=expected.held)
        if expected.held:
            for at in by_buyer.values():
                self.take(at, batch)

    def verdict(self, chosen: list[int], slices: dict[str, int]) -> HoldOutcome:
        wanted: Counter[str] = Counter()
        for at in chosen:
            for want in self.orders[at].demand:
                wanted[want.pool_id] += want.quantity
        gone = {self.orders[at].key for at in chosen if self.orders[at].status is not Status.QUEUED}
        short = {pool_id for pool_id, n in wanted.items() if self.pools[pool_id].unsold[slices[pool_id]] < n}
        over = {
            self.orders[at].buyer_id
            for at in chosen
            if self.buyers[self.orders[at].buyer_id] + self.orders[at].quantity > LIMIT
        }
        return HoldOutcome(not (gone or short or over), frozenset(gone), frozenset(short), frozenset(over))

    def take(self, at: int, batch: HoldBatch) -> None:
        order = self.orders[at]
        self.buyers[order.buyer_id] += order.quantity
        for want in order.demand:
            counts = self.pools[want.pool_id]
            counts.unsold[batch.slices[want.pool_id]] -= want.quantity
            counts.taken[batch.slices[want.pool_id]] += want.quantity
        self.orders[at] = transitions.hold(
            order, op=batch.op, now_ms=20_000, hold_ends_at_ms=80_000, slices=batch.slices
        )

    @precondition(lambda self: self.with_status(Status.HELD))
    @rule(data=st.data(), withhold=st.booleans(), late=st.booleans())
    def release(self, data: st.DataObject, withhold: bool, late: bool) -> None:
        """Give seats back to sale or withhold them; a late writer gives back nothing."""
        at = self.pick(data, Status.HELD)
        held = self.orders[at]
        over = expired(held, op=self.op())
        seen = held.rev - 1 if late else held.rev
        self.answers(
            Saved(held if late else over, done=not late),
            lambda: self.store.release(over, seen_rev=seen, withhold=withhold, max_per_buyer=LIMIT),
            repeatable=not late,
        )
        if late:
            return
        self.orders[at] = over
        self.buyers[held.buyer_id] -= held.quantity
        for part in held.seats:
            counts = self.pools[part.pool_id]
            counts.taken[part.slice_no] -= part.quantity
            if withhold:
                counts.withheld += part.quantity
            else:
                counts.unsold[part.slice_no] += part.quantity

    @precondition(lambda self: self.with_status(Status.QUEUED))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """End a queued order."""
        at = self.pick(data, Status.QUEUED)
        before = self.orders[at]
        over = transitions.cancel_queued(before, op=self.op(), now_ms=30_000)
        self.answers(Saved(over, done=True), lambda: self.store.save(over, seen_rev=before.rev), repeatable=True)
        self.orders[at] = over

    @rule(pool_id=POOLS, slice_no=SLICES, seats=st.integers(1, 4))
    def draw(self, pool_id: str, slice_no: int, seats: int) -> None:
        """Move seats into a slice."""
        counts, op = self.pools[pool_id], self.op()
        enough = counts.unassigned >= seats
        self.answers(
            enough,
            lambda: self.store.draw(self.sale.event_id, pool_id, slice_no, seats, op=op),
            repeatable=enough and self.kind.remembers_moves,
        )
        if enough:
            counts.unassigned -= seats
            counts.unsold[slice_no] += seats

    @rule(pool_id=POOLS, slice_no=SLICES, seats=st.integers(1, 4))
    def give_back(self, pool_id: str, slice_no: int, seats: int) -> None:
        """Move seats back to the pool."""
        counts, op = self.pools[pool_id], self.op()
        enough = counts.unsold[slice_no] >= seats
        self.answers(
            enough,
            lambda: self.store.give_back(self.sale.event_id, pool_id, slice_no, seats, op=op),
            repeatable=enough and self.kind.remembers_moves,
        )
        if enough:
            counts.unassigned += seats
            counts.unsold[slice_no] -= seats

    @rule(pool_id=POOLS, behind=st.booleans())
    def decide_sold_out(self, pool_id: str, behind: bool) -> None:
        """End a round, if nothing is left and nobody did before."""
        counts, op = self.pools[pool_id], self.op()
        seen = counts.round - behind
        decided = counts.left == 0 and not counts.sold_out and not behind
        self.answers(
            decided, lambda: self.store.decide_sold_out(self.sale, pool_id, seen_round=seen, op=op), repeatable=decided
        )
        if decided:
            counts.round += 1
            counts.sold_out = True

    @rule(pool_id=POOLS, behind=st.booleans())
    def reopen(self, pool_id: str, behind: bool) -> None:
        """Take the mark off."""
        counts, op = self.pools[pool_id], self.op()
        seen = counts.round - behind
        reopened = counts.sold_out and not behind
        self.answers(
            reopened,
            lambda: self.store.reopen_pool(self.sale.event_id, pool_id, seen_round=seen, op=op),
            repeatable=reopened,
        )
        if reopened:
            counts.sold_out = False

    @precondition(lambda self: self.again is not None)
    @rule()
    def repeat(self) -> None:
        """I5: carry out the last call that did something once more; it is done, and changes nothing."""
        assert self.again is not None
        answer = self.again()
        assert answer is True or getattr(answer, "done", True)

    @invariant()
    def stands_as_the_model(self) -> None:
        """I1: every pool is balanced and is what the model says; so are counters and orders."""
        for pool_id, counts in self.pools.items():
            pool = self.store.get_pool(self.sale, pool_id)
            assert pool.balanced
            assert (pool.unassigned, pool.withheld) == (counts.unassigned, counts.withheld)
            assert [part.unsold for part in pool.slices] == counts.unsold
            assert [part.taken for part in pool.slices] == counts.taken
            assert (pool.round, pool.sold_out) == (counts.round, counts.sold_out)
        found = self.store.buyer_counts(self.sale.event_id, ["ann", "bob", "cyd"])
        assert {buyer: n for buyer, n in found.items() if n} == {b: n for b, n in self.buyers.items() if n}
        for order in self.orders[-1:]:
            assert self.store.get_order(order.key) == order


@pytest.mark.timeout(180)
def test_a_sale_goes_as_its_model(store: Store, kind: StoreKind) -> None:
    """I1, I5: whatever happens in whatever order, no seat appears, disappears or is sold twice."""
    bound = type("BoundSales", (Sales,), {"store": store, "kind": kind})
    run_state_machine_as_test(
        bound,
        settings=settings(max_examples=kind.examples, stateful_step_count=30, suppress_health_check=list(HealthCheck)),
    )
