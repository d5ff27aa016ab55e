"""A small world in one process and in fake time: a store in memory, a fake payment service, back offices at will."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from consumers.steps import BackOffice
from consumers.tools import Tools
from shared.domain.inventory import PoolState
from shared.domain.money import Money
from shared.domain.order import SEATED, Demand, Lane, Line, Order, Payment, Status
from shared.domain.order_id import OrderKey, order_key
from shared.domain.sale import Sale
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.payment import CARD, FakePayments
from tests.fakes.system import FakeClock, SeededIds


@dataclass
class World:
    """One sale, its store and its payment service."""

    sale: Sale = field(default_factory=make_sale)
    clock: FakeClock = field(default_factory=FakeClock)
    seen: Counter[str] = field(default_factory=Counter)
    seed: int = 0

    def __post_init__(self) -> None:
        self.store: Store = SqliteStore(None, self.clock)
        self.payments = FakePayments(self.clock)
        self.store.create_sale(self.sale)
        self.store.open_inventory(self.sale)
        self.office = self.new_office()
        self._number = 0

    def close(self) -> None:
        self.store.close()

    def new_office(self, *, store: Store | None = None, gateway: PaymentGateway | None = None) -> BackOffice:
        """Return a back office that remembers nothing."""
        self.seed += 1
        return BackOffice(
            Tools(
                store=store or self.store,
                gateway=gateway or self.payments,
                clock=self.clock,
                ids=SeededIds(self.seed),
                observe=self._observe,
            )
        )

    def change_sale(self, sale: Sale) -> None:
        """Let staff change the sale."""
        assert self.store.save_sale(sale, seen_version=self.sale.version)
        self.sale = sale

    # --- buyers ---------------------------------------------------------------------------------------------------

    def order(
        self,
        quantity: int = 1,
        *,
        buyer: str | None = None,
        method: str | None = CARD,
        price: int = 2_500,
        pool: str = "floor",
        round_no: int = 0,
        shard: int | None = None,
        at_ms: int | None = None,
    ) -> OrderKey:
        """Let a buyer order; on `shard` if that matters, taken at `at_ms` if not now."""
        order = self.make_order(
            quantity, buyer=buyer, method=method, price=price, pool=pool, round_no=round_no, shard=shard, at_ms=at_ms
        )
        assert self.store.accept(order).created
        return order.key

    def make_order(
        self,
        quantity: int = 1,
        *,
        buyer: str | None = None,
        method: str | None = CARD,
        price: int = 2_500,
        pool: str = "floor",
        round_no: int = 0,
        shard: int | None = None,
        at_ms: int | None = None,
    ) -> Order:
        counts = self.sale.shard_counts
        while True:
            self._number += 1
            key = order_key(self.sale.event_id, self._number.to_bytes(16, "big"), counts, len(counts))
            if shard is None or key.shard == shard:
                break
        return Order(
            key=key,
            buyer_id=buyer or f"buyer-{self._number}",
            lines=(Line("standing", quantity, price),),
            demand=(Demand(pool, quantity, round_no),),
            amount=Money(price * quantity, "EUR"),
            accepted_at_ms=self.clock.now_ms() if at_ms is None else at_ms,
            fingerprint=f"{self._number:032x}",
            payment=Payment(method=method),
            op=f"accept-{self._number}",
        )

    # --- the back office ------------------------------------------------------------------------------------------

    def allocate(self, office: BackOffice | None = None, *, passes: int = 1, step_s: float = 0.0) -> None:
        """Make passes over every group, with time going by between them."""
        for _ in range(passes):
            for group in range(self.sale.groups):
                (office or self.office).allocate_once(self.sale, group)
            self.clock.advance(step_s)

    def sweep(self, office: BackOffice | None = None) -> None:
        """Settle what is due everywhere."""
        for shard in range(max(self.sale.shard_counts)):
            (office or self.office).sweep_once(self.sale, shard)

    def run(self, seconds: float, *, step_s: float = 0.5, office: BackOffice | None = None) -> None:
        """Let a worker run for a while."""
        for _ in range(max(1, round(seconds / step_s))):
            self.allocate(office)
            self.sweep(office)
            self.clock.advance(step_s)

    def _observe(self, event_id: str, what: str, count: int) -> None:
        assert event_id == self.sale.event_id
        self.seen[what] += count

    # --- looking --------------------------------------------------------------------------------------------------

    def get(self, key: OrderKey) -> Order:
        order = self.store.get_order(key)
        assert order is not None
        return order

    def status(self, key: OrderKey) -> Status:
        return self.get(key).status

    def statuses(self, keys: list[OrderKey]) -> Counter[Status]:
        return Counter(self.status(key) for key in keys)

    def seated(self, keys: list[OrderKey]) -> int:
        """Return how many of these orders have seats, held or sold."""
        return sum(self.status(key) in SEATED for key in keys)

    def pool(self, pool_id: str = "floor") -> PoolState:
        return self.store.get_pool(self.sale, pool_id)

    def orders(self) -> list[Order]:
        orders: list[Order] = []
        for shard in range(max(self.sale.shard_counts)):
            cursor: str | None = None
            while True:
                page = self.store.list_orders(self.sale.event_id, shard, limit=100, cursor=cursor)
                orders += page.orders
                cursor = page.cursor
                if cursor is None:
                    break
        return orders

    def due(self, lane: Lane) -> int:
        shards = range(max(self.sale.shard_counts))
        return sum(self.store.depth(self.sale.event_id, shard, lane, most=10_000) for shard in shards)


def check_invariants(world: World) -> None:
    """Assert I1, I3 (one capture an order), I4 and I7 from stored orders, counters and the payment service's books."""
    orders = world.orders()
    taken: Counter[tuple[str, int]] = Counter()
    by_buyer: Counter[str] = Counter()
    for order in orders:
        if order.status in {Status.HELD, Status.CONFIRMED}:
            for seats in order.seats:
                taken[seats.pool_id, seats.slice_no] += seats.quantity
            by_buyer[order.buyer_id] += order.quantity
        _check_money(world, order)
    for pool in world.sale.pools:
        state = world.pool(pool.pool_id)
        assert state.balanced, state
        for part in state.slices:
            assert part.taken == taken[pool.pool_id, part.slice_no], (state, taken)
    if world.sale.max_per_buyer is not None:
        assert max(by_buyer.values(), default=0) <= world.sale.max_per_buyer
        for buyer, tickets in by_buyer.items():
            assert world.store.buyer_counts(world.sale.event_id, [buyer]) == {buyer: tickets}
    assert max(world.payments.captures.values(), default=0) <= 1
    assert max(world.payments.refunds.values(), default=0) <= 1


def _check_money(world: World, order: Order) -> None:
    intent = world.payments.intent(order.key.order_id)
    kept = 0 if intent is None else intent.captured_minor - intent.refunded_minor
    if order.status is Status.CONFIRMED:
        assert kept == order.owes_minor, order
        assert len(order.tickets) == order.quantity
    elif kept and order.status is not Status.HELD:
        assert order.payment.refund_due_minor == kept, order
    assert intent is None or intent.amount == order.amount
