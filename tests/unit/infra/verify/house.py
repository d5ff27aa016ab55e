"""A small sale that went well, as a store, books and receipts: tests break one thing in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from infra.load.receipts import Answer, Kind, Receipt
from infra.verify.run import Verification, verify
from shared.domain.inventory import PoolState, SliceState
from shared.domain.order import SEATED, Order, Payment, PaymentState, Reason, Seats, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool, Sale, SaleStatus
from shared.ports.control import SaleView
from shared.ports.orders import OrderPage
from shared.ports.payment import Intent, IntentPage, IntentStatus
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock

CONFIRMED = range(1, 9)
REJECTED = range(9, 13)
EXPIRED = 0
HELD_AT_MS = 50_000


class House:
    """A store and a payment service whose every fact a test may change before `verify`."""

    def __init__(self) -> None:
        """Sell eight of ten seats one by one, turn four orders away, let one hold expire."""
        self.sale = make_sale(
            pools=(Pool("floor", 10),), max_per_buyer=2, max_per_order=2, status=SaleStatus.CLOSED, shard_counts=(4,)
        )
        self.orders: dict[str, Order] = {}
        self.intents: dict[str, Intent] = {}
        self.receipts: list[Receipt] = []
        for number in CONFIRMED:
            self.confirm(number)
        for number in REJECTED:
            self.put(rejected_order(number))
        self.put(expired_order(EXPIRED))
        self.pools = {"floor": self.balanced_pool()}
        self.counts = self.balanced_counts()
        self.give_receipts()
        self.pages = 2
        self.on_read: Callable[[], None] = lambda: None

    def confirm(self, number: int) -> Order:
        """Sell one seat, with its paid intent."""
        order = confirmed_order(number)
        self.put(order)
        self.intents[f"pi_{number}"] = paid_intent(f"pi_{number}", order)
        return order

    def put(self, order: Order) -> None:
        """Store an order."""
        self.orders[order.key.order_id] = order

    def change(self, number: int, **changes: Any) -> None:  # noqa: ANN401 - as `replace` takes them
        """Change a stored order."""
        self.put(replace(self.order(number), **changes))

    def order(self, number: int) -> Order:
        """Return order `number`."""
        return self.orders[order_id(number)]

    def balanced_pool(self) -> PoolState:
        """Count the stored orders' seats as the counters should."""
        taken = sum(part.quantity for one in self.orders.values() if one.status in SEATED for part in one.seats)
        return PoolState("floor", 10, 0, 0, 0, False, 1, (SliceState(0, 10 - taken, taken, 7),))

    def balanced_counts(self) -> dict[str, int]:
        """Count the stored orders' tickets by buyer."""
        counts: dict[str, int] = {}
        for order in self.orders.values():
            if order.status in SEATED:
                counts[order.buyer_id] = counts.get(order.buyer_id, 0) + order.quantity
        return counts

    def give_receipts(self) -> None:
        """Hand every buyer the receipt that belongs to the stored order."""
        self.receipts = [receipt_of(order) for order in self.orders.values()]

    def receive(self, number: int, *answers: Answer, **changes: Any) -> None:  # noqa: ANN401
        """Add answers to the receipt of order `number`, and change it."""
        at = [receipt.order_ids[:1] for receipt in self.receipts].index((order_id(number),))
        receipt = self.receipts[at]
        self.receipts[at] = dataclasses.replace(receipt, answers=(*receipt.answers, *answers), **changes)

    def verify(self, *, books: bool = True, receipts: bool = True) -> Verification:
        """Run the whole verification."""
        return verify(
            self,
            self if books else None,
            "gig",
            clock=FakeClock(200_000),
            receipts=self.receipts if receipts else None,
        )

    def get_sale(self, event_id: str) -> SaleView:
        """Read the sale."""
        return SaleView(self.sale, None)

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        """Read a pool."""
        return self.pools[pool_id]

    def get_order(self, key: OrderKey) -> Order | None:
        """Read an order."""
        self.on_read()
        return self.orders.get(key.order_id)

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        """Page through a shard, the first page empty."""
        if cursor is None:
            return OrderPage((), "0")
        here = tuple(order for order in self.orders.values() if order.key.shard == shard)
        at = int(cursor)
        self.on_read()
        return OrderPage(here[at : at + self.pages], str(at + self.pages) if at + self.pages < len(here) else None)

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        """Read counters."""
        return {buyer: self.counts[buyer] for buyer in buyer_ids if buyer in self.counts}

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        """Page through the books, one a page."""
        at = int(cursor or 0)
        intents = tuple(self.intents.values())
        return IntentPage(intents[at : at + 1], str(at + 1) if at + 1 < len(intents) else None)

    def fetch(self, intent_id: str) -> Intent:
        """Read one intent."""
        return self.intents[intent_id]


def order_id(number: int) -> str:
    """Return the public id of order `number`."""
    return make_order(number).key.order_id


def confirmed_order(number: int) -> Order:
    """Make an order that was paid and has its ticket."""
    paid = Payment("pm_card_visa", 1, PaymentState.PAID, f"pi_{number}", captured_minor=2_500)
    return replace(
        make_order(number, buyer=f"buyer-{number}"),
        status=Status.CONFIRMED,
        rev=4,
        updated_at_ms=HELD_AT_MS + 100,
        held_at_ms=HELD_AT_MS,
        seats=(Seats("floor", 0, 1),),
        payment=paid,
        tickets=(f"ticket-{number}",),
    )


def rejected_order(number: int) -> Order:
    """Make an order that came too late."""
    return replace(
        make_order(number, buyer=f"buyer-{number}"),
        status=Status.REJECTED,
        reason=Reason.SOLD_OUT,
        rev=2,
        updated_at_ms=HELD_AT_MS + 200,
    )


def expired_order(number: int) -> Order:
    """Make an order whose buyer never paid."""
    return replace(
        make_order(number, buyer=f"buyer-{number}"),
        status=Status.EXPIRED,
        reason=Reason.NOT_PAID_IN_TIME,
        rev=4,
        updated_at_ms=HELD_AT_MS + 60_000,
        held_at_ms=HELD_AT_MS,
        seats=(Seats("floor", 0, 1),),
    )


def paid_intent(intent_id: str, order: Order, **changes: Any) -> Intent:  # noqa: ANN401
    """Make the intent that paid an order."""
    intent = Intent(
        intent_id, IntentStatus.SUCCEEDED, order.amount, order.amount.minor, 0, None, None, order.key, 3_000
    )
    return replace(intent, **changes)


def receipt_of(order: Order) -> Receipt:
    """Make the receipt of a patient buyer: placed, repeated, read once, somebody else's order tried."""
    return Receipt(
        event_id="gig",
        buyer_id=order.buyer_id,
        key=f"key-of-{order.buyer_id}",
        body_sha256="ab" * 32,
        order_ids=(order.key.order_id,),
        last_status=str(order.status),
        answers=(
            Answer(Kind.PLACE, 2_010, 503, 3.0, 1.0, "busy"),
            Answer(Kind.PLACE, 2_900, 202, 5.0),
            Answer(Kind.REPEAT, 2_950, 202, 5.0),
            Answer(Kind.READ, 60_000, 200, 2.0),
            Answer(Kind.FOREIGN, 60_001, 404, 2.0, None, "not-found"),
        ),
    )
