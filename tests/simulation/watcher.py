"""What must hold after every single write, checked from outside at the store and at the payment service's books."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from shared.domain.money import Money
from shared.domain.order import FINAL, SEATED, Order, Status
from shared.domain.order_id import OrderKey, parse_order_id
from shared.domain.sale import Sale
from shared.ports.inventory import HoldBatch, HoldOutcome
from shared.ports.orders import Accepted, Saved
from shared.ports.payment import IntentStatus
from shared.ports.store import Store
from shared.stores.wrapped import WrappedStore
from tests.fakes.payment import FakePayments

T = TypeVar("T")


class InvariantBroken(AssertionError):
    """A promise does not hold; the message begins with its number."""


class Watcher(WrappedStore):
    """Stands next to the bare store, sees every write that was applied, and keeps a model of all orders."""

    def __init__(self, inner: Store, sale: Sale, payments: FakePayments, note: Callable[[str], None]) -> None:
        """Watch over `inner`, which holds one sale."""
        super().__init__(inner)
        self._sale = sale
        self._payments = payments
        self._note = note
        self.orders: dict[OrderKey, Order] = {}
        self.ever_held: set[bytes] = set()
        self.holds = 0
        self.steps: Counter[str] = Counter()
        self._asked_back: dict[OrderKey, set[int]] = {}

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        outcome = self._inner.hold_batch(batch)
        if outcome.held:
            self._note(f"  held {[hint.key.order_id[:6] for hint in batch.orders]}")
            for hint in batch.orders:
                self._see(self._inner.get_order(hint.key))
            self._check_seats()
        return outcome

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        before = self.orders.get(order.key)
        saved = self._inner.release(order, seen_rev=seen_rev, withhold=withhold, max_per_buyer=max_per_buyer)
        if saved.done and before is not None and before.status is Status.HELD:
            self._check_release(order)
        self._see(saved.order)
        self._check_seats()
        return saved

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:
        answer = run()
        if isinstance(answer, Accepted | Saved):
            self._see(answer.order)
        if method in {"draw", "give_back", "change_pool"}:
            self._check_seats()
        return answer

    def standing(self, key: OrderKey) -> OrderKey:
        """Return the order that counts for the key of this one; I3 when superseded orders lead nowhere."""
        order = self.orders[key]
        by_id = {other.key.order_id: other for other in self.orders.values()}
        for _ in range(3):
            if order.status is not Status.SUPERSEDED:
                return order.key
            _require("I3", order.superseded_by in by_id, f"{order.key.order_id} leads to {order.superseded_by}")
            order = by_id[str(order.superseded_by)]
        raise InvariantBroken(f"I3: superseded orders lead in a circle from {key}")

    def asked_back(self, order: Order, total_minor: int) -> None:
        """Note that staff asked for a refund of so much in all; whether it was taken is not known yet."""
        self._asked_back.setdefault(order.key, set()).add(total_minor)

    # --- what was written -----------------------------------------------------------------------------------------

    def _see(self, order: Order | None) -> None:
        if order is None:
            return
        before = self.orders.get(order.key)
        if before == order:
            return
        self._note(f"  {order.key.order_id[:6]} on {order.key.shard} is {order.status} rev {order.rev}")
        was, now = "new" if before is None else str(before.status), str(order.status)
        if was != now:
            self.steps[f"{was}>{now}"] += 1
        if before is not None:
            _require("I5", order.rev == before.rev + 1, f"rev went from {before.rev} to {order.rev}")
            _require("I5", _wish(order) == _wish(before), "what the buyer sent has changed")
            ended = before.status in FINAL and before.status is not Status.CONFIRMED
            _require("I5", not ended or order.status is before.status, f"{before.status} became {order.status}")
        if order.status is Status.HELD and (before is None or before.status is not Status.HELD):
            self._check_hold(order)
        if order.status is Status.CONFIRMED:
            self._check_confirmed(order)
        self.orders[order.key] = order

    def _check_hold(self, order: Order) -> None:
        self.holds += 1
        _, digest = parse_order_id(order.key.order_id)
        _require("I3", digest not in self.ever_held, "one idempotency key was held twice")
        self.ever_held.add(digest)

    def _check_confirmed(self, order: Order) -> None:
        if order.amount.minor == 0:
            return
        intent = self._payments.intent(order.key.order_id)
        paid = intent is not None and intent.status is IntentStatus.SUCCEEDED and intent.amount == order.amount
        _require("I4", paid, f"order {order.key.order_id} is confirmed and not paid: {intent}")

    def _check_release(self, order: Order) -> None:
        intent = self._payments.intent(order.key.order_id)
        closed = intent is None or intent.status is IntentStatus.CLOSED
        asked = not order.must_ask_before_release or intent is not None
        _require("I4", closed and asked, f"seats of {order.key.order_id} came back before its intent was closed")

    # --- sums -----------------------------------------------------------------------------------------------------

    def _check_seats(self) -> None:
        taken: Counter[tuple[str, int]] = Counter()
        buyers: Counter[str] = Counter()
        for order in self.orders.values():
            if order.status in SEATED:
                buyers[order.buyer_id] += order.quantity
                for seats in order.seats:
                    taken[seats.pool_id, seats.slice_no] += seats.quantity
        for pool in self._sale.pools:
            state = self._inner.get_pool(self._sale, pool.pool_id)
            _require("I1", state.balanced, f"the pool's sum is off: {state}")
            for part in state.slices:
                stored = taken[pool.pool_id, part.slice_no]
                _require("I1", part.taken == stored, f"slice {part} counts other seats than its orders: {stored}")
        limit = self._sale.max_per_buyer
        if limit is not None:
            over = {buyer: count for buyer, count in buyers.items() if count > limit}
            _require("I7", not over, f"buyers above the limit: {over}")

    def check_books(self) -> None:
        """Check the payment service's own side: nothing captured twice, nothing paid back above it."""
        for intent_id, count in self._payments.captures.items():
            _require("I4", count <= 1, f"{intent_id} was captured {count} times")
        for intent in self._payments.intents.values():
            _require("I4", intent.refunded_minor <= intent.captured_minor, f"too much paid back: {intent}")

    def check_end(self) -> None:
        """Check what must hold once everything has come to rest."""
        counting: dict[bytes, OrderKey] = {}
        for order in self.orders.values():
            standing = counting.setdefault(parse_order_id(order.key.order_id)[1], self.standing(order.key))
            _require("I3", standing == self.standing(order.key), f"two orders count for the key of {standing}")
            _require("I2", order.status in FINAL, f"order {order.key.order_id} never ended: {order.status}")
            intent = self._payments.intent(order.key.order_id)
            kept = 0 if intent is None else intent.captured_minor - intent.refunded_minor
            _require("I4", kept == order.owes_minor, f"{order.key.order_id} ({order.status}) owes other than {kept}")
            if order.status is Status.CONFIRMED and intent is not None:
                asked = {0, *self._asked_back.get(order.key, ())}
                _require("I4", intent.refunded_minor in asked, f"{order.key.order_id} got other than {asked} back")
        for intent in self._payments.intents.values():
            kept = intent.captured_minor - intent.refunded_minor
            _require("I4", kept == 0 or intent.order_key in self.orders, f"money without an order stays: {intent}")
        self._check_seats()
        self.check_books()

    def check_all_paid_back(self) -> None:
        """Check that nobody keeps a ticket of a cancelled sale that was paid back."""
        left = [order.key.order_id for order in self.orders.values() if order.status is Status.CONFIRMED]
        _require("I4", not left, f"the sale was cancelled and paid back, and these are confirmed: {left}")

    def check_sell_through(self) -> None:
        """Check that no waiting order fits what is left, while nothing is held."""
        left = {pool.pool_id: self._inner.get_pool(self._sale, pool.pool_id).left for pool in self._sale.pools}
        for order in self.orders.values():
            fits = all(want.quantity <= left[want.pool_id] for want in order.demand)
            _require("I6", not (order.status is Status.QUEUED and fits), f"{order.key.order_id} fits {left} and waits")


def _wish(order: Order) -> tuple[object, ...]:
    money: Money = order.amount
    return order.key, order.buyer_id, order.lines, order.demand, money, order.accepted_at_ms, order.fingerprint


def _require(number: str, holds: bool, sentence: str) -> None:
    if not holds:
        raise InvariantBroken(f"{number}: {sentence}")
