"""The people of a night: they press, press again, pay, name another card, and change their minds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.cancel_order import cancel_order
from ingest.order_rules import OrderWish
from ingest.parts import Parts
from ingest.place_order import place_order
from ingest.try_payment import try_payment
from shared.domain.errors import OnsaleError, Refused, Unavailable
from shared.domain.order import Order
from shared.domain.order_id import OrderKey
from tests.fakes.payment import CARD, DECLINED_CARD, FakePayments
from tests.simulation.plan import BuyerPlan
from tests.simulation.scheduler import Scheduler


@dataclass(slots=True)
class Crowd:
    """All buyers of a night; `receipts` keeps which orders each key was answered with."""

    scheduler: Scheduler
    rng: random.Random
    doors: list[Parts]
    payments: FakePayments
    door_crash: float
    note: Callable[[str], None]
    receipts: dict[str, set[OrderKey]] = field(default_factory=dict)

    def life_of(self, plan: BuyerPlan, number: int) -> Callable[[], None]:
        """Return what one buyer does, from the first press to the last look."""
        wish = OrderWish(
            event_id="gig",
            buyer_id=plan.name,
            idempotency_key=f"key-{number}",
            lines=((plan.ticket_type_id, plan.quantity),),
            payment_method=plan.method,
            holder=None,
            fingerprint=f"{plan.name}/{number}",
        )

        def live() -> None:
            order = None
            for _ in range(1 + plan.repeats):
                order = self._press(wish, number) or order
                self.scheduler.wait(self.rng.randrange(1, 5_000))
            if order is None:
                return
            if plan.pays_by_hand:
                self._pay_by_hand(order)
            elif plan.second_card and plan.method == DECLINED_CARD:
                self._name_another_card(order)
            if plan.cancels_after_ms is not None:
                self.scheduler.wait(plan.cancels_after_ms)
                self._cancel(order, plan.name)

        return live

    def _press(self, wish: OrderWish, number: int) -> Order | None:
        """Ask until there is an answer, with the same key, at whichever door answers."""
        for _ in range(60):
            try:
                if self.rng.random() < self.door_crash and not self.scheduler.healed:
                    self._die_at_the_door(wish)
                placed = place_order(self.rng.choice(self.doors), wish)
            except Unavailable:
                self.scheduler.wait(self.rng.randrange(200, 3_000))
                continue
            except Refused as refusal:
                self.note(f"{wish.buyer_id}/{number} refused: {refusal.message}")
                return None
            self.receipts.setdefault(f"{wish.buyer_id}/{number}", set()).add(placed.order.key)
            return placed.order
        return None

    def _die_at_the_door(self, wish: OrderWish) -> None:
        """Let the door take the order and die before it answers."""
        try:
            place_order(self.rng.choice(self.doors), wish)
        except OnsaleError:
            return
        raise Unavailable

    def _pay_by_hand(self, order: Order) -> None:
        for _ in range(30):
            self.scheduler.wait(self.rng.randrange(200, 2_000))
            intent = self.payments.intent(order.key.order_id)
            if intent is not None:
                self.note(f"{order.buyer_id} pays by hand")
                self.payments.pay_by_hand(order.key.order_id)
                return

    def _name_another_card(self, order: Order) -> None:
        """Try another card while it makes sense, under one key, at whichever door answers."""
        for _ in range(20):
            self.scheduler.wait(self.rng.randrange(200, 2_000))
            door, order_id = self.rng.choice(self.doors), order.key.order_id
            try:
                try_payment(door, "gig", order_id, order.buyer_id, method=CARD, idempotency_key="again")
            except Unavailable:
                continue
            except Refused as refusal:
                if getattr(refusal, "reason", "") in {"payment-in-progress", "order-queued"}:
                    continue
                return
            return

    def _cancel(self, order: Order, buyer_id: str) -> None:
        for _ in range(20):
            try:
                cancel_order(self.rng.choice(self.doors), "gig", order.key.order_id, buyer_id)
            except Unavailable:
                self.scheduler.wait(self.rng.randrange(100, 2_000))
                continue
            except Refused:
                return
            return
