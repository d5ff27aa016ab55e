"""One order, its payment and every order in which news of it can come, in memory.

The payment service's own books move as far as they legally can with each event of a sequence; its webhook is delivered
whether they did or not, as late, doubled and made-up ones are. What the order becomes must follow from the books alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import cast

from aws_lambda_powertools import Logger
from msgspec.structs import replace

from consumers.settlement.settle import Settlement
from consumers.settlement.waits import due_duties
from consumers.tools import Tools
from ingest.note_payment import note_payment
from ingest.parts import Parts, make_parts
from shared.domain.order import Order, hint_of
from shared.domain.order_id import OrderKey
from shared.domain.transitions import hold
from shared.ports.orders import Saved
from shared.ports.payment import Intent, IntentStatus, PaymentNotice
from shared.ports.store import Store
from tests.builders import make_order, make_sale
from tests.fakes.payment import FakePayments
from tests.fakes.system import FakeClock, SeededIds

LONGEST = 6
HOLD_S = 60


class News(StrEnum):
    """What a webhook says."""

    CREATED = "payment_intent.created"
    PROCESSING = "payment_intent.processing"
    FAILED = "payment_intent.payment_failed"
    SUCCEEDED = "payment_intent.succeeded"
    REFUNDED = "charge.refunded"


def sequences(longest: int = LONGEST) -> Iterator[tuple[News, ...]]:
    """Return every sequence with repetition, the shortest first."""
    for length in range(1, longest + 1):
        yield from product(News, repeat=length)


def move_books(intent: Intent, news: News) -> Intent:
    """Move an intent as the payment service could; where it could not, it stays as it is."""
    if news is News.REFUNDED:
        return replace(intent, refunded_minor=intent.captured_minor)
    if intent.status not in {IntentStatus.OPEN, IntentStatus.PROCESSING}:
        return intent
    match news:
        case News.PROCESSING:
            return replace(intent, status=IntentStatus.PROCESSING, decline_code=None)
        case News.FAILED:
            return replace(intent, status=IntentStatus.OPEN, decline_code="card_declined")
        case News.SUCCEEDED:
            return replace(intent, status=IntentStatus.SUCCEEDED, captured_minor=intent.amount.minor, decline_code=None)
        case _:
            return intent


@dataclass(slots=True)
class OneOrder:
    """A store that holds one order: as much of the port as its money needs."""

    order: Order

    def get_order(self, key: OrderKey) -> Order | None:
        """As the port says."""
        return self.order if key == self.order.key else None

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        """As the port says."""
        if self.order.rev != seen_rev:
            return Saved(self.order, done=self.order.op == order.op)
        self.order = order
        return Saved(order, done=True)

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        """As the port says; the seats are nobody's."""
        return self.save(order, seen_rev=seen_rev)


@dataclass(slots=True)
class Desk:
    """A held order, paid by hand-off, with the door and the back office around it."""

    clock: FakeClock = field(default_factory=FakeClock)
    payments: FakePayments = field(init=False)
    store: OneOrder = field(init=False)
    door: Parts = field(init=False)
    office: Settlement = field(init=False)

    def __post_init__(self) -> None:
        """Hold the seats, ask nobody yet."""
        queued = make_order(payment=replace(make_order().payment, method=None))
        assert hint_of(queued) is not None
        now_ms = self.clock.now_ms()
        ends_at_ms = now_ms + HOLD_S * 1000
        held = hold(queued, op="hold", now_ms=now_ms, hold_ends_at_ms=ends_at_ms, slices={"floor": 0})
        self.store, self.payments = OneOrder(held), FakePayments(self.clock)
        whole, ids = cast("Store", self.store), SeededIds(1)
        logger = Logger(service="sequences", level="CRITICAL")
        self.door = make_parts(whole, self.clock, ids, processes=1, check_chargeable=_any_price, logger=logger)
        self.office = Settlement(Tools(whole, self.payments, self.clock, ids))

    @property
    def order(self) -> Order:
        """The order as it is stored."""
        return self.store.order

    @property
    def intent(self) -> Intent | None:
        """The payment as the payment service has it."""
        return self.payments.intent(self.order.key.order_id)

    def deliver(self, news: News) -> None:
        """Let the books move if they can, and the webhook come in any case."""
        intent = self.intent
        if intent is not None:
            moved = self.payments.intents[intent.intent_id] = move_books(intent, news)
            if moved.captured_minor > intent.captured_minor:
                self.payments.captures[intent.intent_id] = self.payments.captures.get(intent.intent_id, 0) + 1
        key = self.order.key
        now_ms = self.clock.now_ms()
        note_payment(self.door, PaymentNotice("evt", str(news), f"pi_{key.order_id}", key, now_ms))

    def settle(self) -> None:
        """Do what is due."""
        for _ in range(6):
            if self.order.parked is not None or not due_duties(self.order, self.clock.now_ms()):
                return
            self.office.settle_once(SALE, self.order.key)

    def rest(self) -> None:
        """Let the hold end, and as much time pass as anything takes."""
        for _ in range(4):
            self.clock.advance(HOLD_S)
            self.settle()

    def copy(self) -> Desk:
        """Return another desk at the same point of the story."""
        other = Desk(FakeClock(self.clock.at_ms))
        other.store.order = self.order
        other.payments.intents = dict(self.payments.intents)
        other.payments.captures = dict(self.payments.captures)
        other.payments.refunds = dict(self.payments.refunds)
        return other


SALE = make_sale(hold_ttl_s=HOLD_S)


def play_all(after_each: Callable[[Desk, int], None], check: Callable[[Desk, tuple[News, ...]], None]) -> int:
    """Play every sequence; `after_each` lets workers look or not, `check` sees where it ended. Return how many."""
    played = 0

    def go_on(desk: Desk, so_far: tuple[News, ...]) -> None:
        nonlocal played
        for news in News:
            branch, sequence = desk.copy(), (*so_far, news)
            branch.clock.advance(1)
            branch.deliver(news)
            after_each(branch, len(sequence))
            end = branch.copy()
            end.rest()
            check(end, sequence)
            played += 1
            if len(sequence) < LONGEST:
                go_on(branch, sequence)

    opened = Desk()
    opened.settle()
    go_on(opened, ())
    return played


def _any_price(price: object, *, most: int = 1) -> None:
    """Charge whatever the sale asks."""
