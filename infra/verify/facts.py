"""What was read, made small: the checks are pure functions of these.

An order takes some 500 bytes here, so a million orders fit half a gigabyte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.load.receipts import Kind
from shared.domain.inventory import PoolState
from shared.domain.order import Demand, Order, Reason, Seats, Status
from shared.domain.sale import Sale
from shared.ports.payment import Intent, IntentStatus


@dataclass(frozen=True, slots=True)
class OrderFact:
    """One stored order, as far as any check needs it."""

    order_id: str
    shard: int
    rev: int
    buyer_id: str
    status: Status
    reason: Reason | None
    accepted_at_ms: int
    held_at_ms: int | None
    updated_at_ms: int
    quantity: int
    demand: tuple[Demand, ...]
    seats: tuple[Seats, ...]
    amount_minor: int
    currency: str
    owes_minor: int
    refund_due_minor: int
    money_under_way: bool
    waits_for_work: bool
    parked: bool
    tickets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SliceCount:
    """A slice that stood still while its orders were read: seats taken by its counter, and by its orders."""

    by_counter: int
    by_orders: int


@dataclass(frozen=True, slots=True)
class PoolFact:
    """One pool as last read, and the counts of those of its slices that stood still, by slice number."""

    state: PoolState
    settled: Mapping[int, SliceCount]


@dataclass(frozen=True, slots=True)
class IntentFact:
    """One payment intent in the payment service's books."""

    intent_id: str
    order_id: str
    status: IntentStatus
    amount_minor: int
    currency: str
    captured_minor: int
    refunded_minor: int

    @property
    def net_minor(self) -> int:
        """What the buyer has paid and not got back."""
        return self.captured_minor - self.refunded_minor


@dataclass(frozen=True, slots=True)
class Claim:
    """What one buyer was told about one key and body."""

    buyer_id: str
    key: str
    body_sha256: str
    order_ids: tuple[str, ...]
    last_status: str | None
    asked_again: int
    unreadable: bool


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """What one answer looked like, without its time: these are counted."""

    kind: Kind
    status: int
    says_when: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """All receipts of one event."""

    claims: tuple[Claim, ...]
    answers: Counter[AnswerShape]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was read. `intents` and `receipts` are None when there was nobody to ask.

    `moving` are the orders that changed between two readings, so that nothing certain can be said of them.
    """

    sale: Sale
    ended: bool
    pools: tuple[PoolFact, ...]
    orders: Mapping[str, OrderFact]
    buyer_counts: Mapping[str, int]
    intents: Mapping[str, tuple[IntentFact, ...]] | None
    receipts: ReceiptFacts | None
    moving: frozenset[str] = frozenset()

    @property
    def settled(self) -> bool:
        """Say whether every slice stood still while its orders were read."""
        return all(len(pool.settled) == len(pool.state.slices) for pool in self.pools)


class Shrinker:
    """Turns stored orders into facts; equal demands and seats are kept once."""

    def __init__(self) -> None:
        self._demands: dict[tuple[Demand, ...], tuple[Demand, ...]] = {}
        self._seats: dict[tuple[Seats, ...], tuple[Seats, ...]] = {}

    def order(self, order: Order) -> OrderFact:
        """Keep what the checks need."""
        return OrderFact(
            order_id=order.key.order_id,
            shard=order.key.shard,
            rev=order.rev,
            buyer_id=order.buyer_id,
            status=order.status,
            reason=order.reason,
            accepted_at_ms=order.accepted_at_ms,
            held_at_ms=order.held_at_ms,
            updated_at_ms=order.updated_at_ms,
            quantity=order.quantity,
            demand=self._demands.setdefault(order.demand, order.demand),
            seats=self._seats.setdefault(order.seats, order.seats),
            amount_minor=order.amount.minor,
            currency=order.amount.currency,
            owes_minor=order.owes_minor,
            refund_due_minor=order.payment.refund_due_minor,
            money_under_way=bool(order.duties),
            waits_for_work=order.work is not None,
            parked=order.parked is not None,
            tickets=order.tickets,
        )


def intent_fact(intent: Intent, order_id: str) -> IntentFact:
    """Keep what the checks need of an intent."""
    return IntentFact(
        intent.intent_id,
        order_id,
        intent.status,
        intent.amount.minor,
        intent.amount.currency,
        intent.captured_minor,
        intent.refunded_minor,
    )
