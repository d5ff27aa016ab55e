"""One order, one value: what the buyer asked for, and how far it has come.

::

    queued ──▶ held ──▶ confirmed ──▶ refunded
       │         ├────▶ expired
       ├─────────┴────▶ cancelled
       ├──────────────▶ rejected
       └──────────────▶ superseded

A parked order (dead letter) keeps its status, seats and money; parking is a stage, not a status.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from shared.domain.discreet import Discreet
from shared.domain.money import Money
from shared.domain.times import sortable_ms
from shared.domain.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.domain.journey import Step
    from shared.domain.order_id import OrderKey
    from shared.domain.taken import Taken

# Tries with different cards on one order; the hold's length is the other bound.
MAX_ATTEMPTS = 5


class Status(StrEnum):
    """Where an order stands, for the buyer."""

    QUEUED = "queued"
    HELD = "held"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REFUNDED = "refunded"
    SUPERSEDED = "superseded"


FINAL = frozenset(
    {
        Status.CONFIRMED,
        Status.REJECTED,
        Status.EXPIRED,
        Status.CANCELLED,
        Status.REFUNDED,
        Status.SUPERSEDED,
    }
)
# The statuses in which an order's seats are neither for sale nor given back.
SEATED = frozenset({Status.HELD, Status.CONFIRMED})


class Reason(StrEnum):
    """Why an order ended without a ticket."""

    SOLD_OUT = "sold_out"
    NOT_ENOUGH_SEATS = "not_enough_seats"
    OVER_BUYER_LIMIT = "over_buyer_limit"
    SALE_CANCELLED = "sale_cancelled"
    BUYER_CANCELLED = "buyer_cancelled"
    NOT_PAID_IN_TIME = "not_paid_in_time"
    REFUNDED_BY_STAFF = "refunded_by_staff"
    ORPHANED = "orphaned"
    """Never an order: a payment of ours came for one that is not stored, and is to be paid back."""


class Lane(StrEnum):
    """The lanes of the work index: waiting for seats, for a time, for a program outside, for a person."""

    LINE = "line"
    TIMER = "timer"
    FULFIL = "fulfil"
    PARKED = "parked"


class Duty(StrEnum):
    """What is still to do for an order at a time of its own."""

    PAY = "pay"
    """Carry out the try (or open the hand-off) that was written on the order."""
    CHECK = "check"
    """Ask the payment service how the intent stands."""
    HOLD_END = "hold_end"
    """Close the intent and give the seats back, unless it was paid."""
    CLOSE = "close"
    """The buyer wants out: close the intent and give the seats back, unless it was paid."""
    REFUND = "refund"
    """Pay back what is owed."""
    REJOIN = "rejoin"
    """Stand in line again, at the old place, after a delay."""
    FULFIL = "fulfil"
    """Wait for a program outside to take the order over."""


class PaymentState(StrEnum):
    """What is known of the order's payment intent."""

    NONE = "none"
    OPEN = "open"
    DECLINED = "declined"
    PROCESSING = "processing"
    PAID = "paid"
    CLOSED = "closed"


class Line(Struct, frozen=True):
    """`quantity` tickets of one type at the sale's price."""

    ticket_type_id: str
    quantity: int
    price_minor: int


class Demand(Struct, frozen=True):
    """Seats wanted of one pool, and the pool's round when the order was taken."""

    pool_id: str
    quantity: int
    round: int


class Seats(Struct, frozen=True):
    """Seats taken from one slice of a pool; they go back to the same slice."""

    pool_id: str
    slice_no: int
    quantity: int


class Payment(Discreet, frozen=True):
    """The money side of an order.

    `method` is the provider's payment method to charge, or None for a hand-off, where the buyer pays with
    `client_secret`. `attempt` counts the tries written on the order, the first with the hold; `try_names` are the
    names that the buyer gave to the later ones, so that a repeated request knows its own. `refund_due_minor` and
    `refunded_minor` are running totals: what is to be paid back in all, and what has been. `silent_since_ms` is since
    when the payment service owes us an answer.
    """

    hidden: ClassVar = frozenset({"client_secret"})

    method: str | None = None
    attempt: int = 0
    state: PaymentState = PaymentState.NONE
    intent_id: str | None = None
    client_secret: str | None = None
    decline_code: str | None = None
    captured_minor: int = 0
    refund_due_minor: int = 0
    refunded_minor: int = 0
    try_names: tuple[str, ...] = ()
    silent_since_ms: int | None = None


class Parked(Struct, frozen=True):
    """Why and when an order was set aside for a person, what was owed to it then, and who has it in hand."""

    at_ms: int
    error: str
    duty: str
    taken: Taken | None = None


class Order(Discreet, frozen=True):
    """One order for its whole life.

    What the buyer sent never changes: everything down to `correlation_id`, by which the request that brought the order
    is found in the logs. `steps` is the way it has come since. `rev` counts the writes; `op` names the operation
    that made the last one, so that a writer whose answer was lost knows its own work. `taken` is about fulfilment.
    `older_homes` are the addresses that older versions of the shard map give this key, until the order leaves the line;
    none for orders without a key, and for those that the map's growth did not move. `superseded_by` names the order
    that stands for the key instead of this one.
    """

    hidden: ClassVar = frozenset({"holder", "tickets"})

    key: OrderKey
    buyer_id: str
    lines: tuple[Line, ...]
    demand: tuple[Demand, ...]
    amount: Money
    accepted_at_ms: int
    fingerprint: str
    holder: str | None = None
    correlation_id: str = ""

    status: Status = Status.QUEUED
    reason: Reason | None = None
    rev: int = 1
    op: str = ""
    updated_at_ms: int = 0
    held_at_ms: int | None = None
    seats: tuple[Seats, ...] = ()
    payment: Payment = Payment()
    duties: Mapping[Duty, int] = field(default_factory=dict)
    tickets: tuple[str, ...] = ()
    failures: int = 0
    parked: Parked | None = None
    history: tuple[Trouble, ...] = ()
    steps: tuple[Step, ...] = ()
    taken: Taken | None = None
    superseded_by: str | None = None
    older_homes: tuple[OrderKey, ...] = ()

    @property
    def tombstones(self) -> tuple[OrderKey, ...]:
        """The addresses to be closed in the write that stores this: whatever ends a moved order's waiting closes them.

        A superseded order closes nothing: another one stands for its key.
        """
        return () if self.status in {Status.QUEUED, Status.SUPERSEDED} else self.older_homes

    @property
    def quantity(self) -> int:
        """Tickets in the order."""
        return sum(line.quantity for line in self.lines)

    @property
    def is_orphan(self) -> bool:
        """Say whether this only stands for a payment without an order."""
        return self.reason is Reason.ORPHANED

    @property
    def owes_minor(self) -> int:
        """What must have been captured and not refunded, once nothing is under way."""
        if self.status is Status.CONFIRMED:
            return self.amount.minor - self.payment.refund_due_minor
        return 0

    @property
    def must_ask_before_release(self) -> bool:
        """Say whether money may have moved, so that the intent is closed before seats are given back."""
        return self.amount.minor > 0 and self.payment.attempt > 0

    @property
    def next_due(self) -> tuple[int, Duty] | None:
        """The earliest duty with its time, or None; what waits for somebody outside never hides a duty of ours."""
        if not self.duties:
            return None
        ours = {duty: at for duty, at in self.duties.items() if duty is not Duty.FULFIL} or self.duties
        return min((at, duty) for duty, at in ours.items())

    @property
    def work(self) -> tuple[Lane, int] | None:
        """Lane and time under which the work index lists the order; None when nothing is left to do."""
        if self.parked is not None:
            taken = self.parked.taken
            return Lane.PARKED, self.parked.at_ms if taken is None else taken.until_ms
        due = self.next_due
        if due is not None:
            return Lane.FULFIL if due[1] is Duty.FULFIL else Lane.TIMER, due[0]
        if self.status is Status.QUEUED:
            return Lane.LINE, self.accepted_at_ms
        return None


def work_key(lane: Lane, at_ms: int, order_id: str) -> str:
    """Write the work index's sort key: lanes apart, then by time, then by id."""
    return f"{lane}#{sortable_ms(at_ms)}#{order_id}"


class WorkHint(Struct, frozen=True):
    """One entry of the work index: late, sometimes already done, never a condition.

    It shows only what never changes after the order was taken.
    """

    key: OrderKey
    lane: Lane
    at_ms: int
    buyer_id: str
    demand: tuple[Demand, ...]
    accepted_at_ms: int
    older_homes: tuple[OrderKey, ...] = ()
    correlation_id: str = ""

    @property
    def place(self) -> tuple[int, str]:
        """The order's place in line: by time of acceptance, ties by id."""
        return self.accepted_at_ms, self.key.order_id


def hint_of(order: Order) -> WorkHint | None:
    """Return the entry the work index holds for an order, or None."""
    work = order.work
    if work is None:
        return None
    return WorkHint(
        order.key,
        work[0],
        work[1],
        order.buyer_id,
        order.demand,
        order.accepted_at_ms,
        order.older_homes,
        order.correlation_id,
    )
