"""The sockets of the house: what the rooms need from outside, as protocols.

Three stores in one, the payment service, the clock and the source of ids. Every store method may raise
`Unavailable` (or its children `Throttled`, `Contended`, `AnswerLost`); repeating the very same call with the same
`op` after any of these is always safe, and recognised as done if it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.domain.inventory import PoolState
    from shared.domain.money import Money
    from shared.domain.order import Lane, Order, WorkHint
    from shared.domain.order_id import OrderKey
    from shared.domain.sale import Sale


class Clock(Protocol):
    """Time, injected."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds that never go back; no meaning outside this process."""
        ...


class Ids(Protocol):
    """Randomness, injected."""

    def random_bytes(self, count: int) -> bytes:
        """Return unguessable bytes."""
        ...

    def op_id(self) -> str:
        """Return a name for one write operation: unique, at most 16 characters."""
        ...

    def fraction(self) -> float:
        """Return a uniform number in [0, 1) for jitter."""
        ...


# --- orders -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to `accept`: the order that stands under this key, and whether this call put it there."""

    order: Order
    created: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """The answer to `save` and `release`: the order as stored now.

    `done` is False when another writer was first; `order` is then the other's version (None if nothing is stored).
    """

    order: Order | None
    done: bool


@dataclass(frozen=True, slots=True)
class HintPage:
    """Some entries of the work index in key order. `cursor` is None at the end; a page may be empty before it."""

    hints: tuple[WorkHint, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class OrderPage:
    """Some orders of one shard in key order. `cursor` is None at the end; a page may be empty before it."""

    orders: tuple[Order, ...]
    cursor: str | None


class OrderStore(Protocol):
    """The durable buffer: one item per order, and the sparse index of what is still to do."""

    def accept(self, order: Order) -> Accepted:
        """Store a new order in one conditional write, or return the one that already stands under its key."""
        ...

    def get_order(self, key: OrderKey) -> Order | None:
        """Read one order, consistently."""
        ...

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        """Replace an order on condition that its stored `rev` is still `seen_rev`.

        A stored order whose `op` is `order.op` counts as done: it is this writer's own work.
        """
        ...

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        """List the work index of one shard and lane, earliest first, up to and including `until_ms`."""
        ...

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        """Page through all orders of one shard, consistently. For verification and export, never for the sale."""
        ...

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        """Count one shard's entries in a lane, stopping at `most`."""
        ...


# --- inventory ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HoldBatch:
    """One allocating transaction: every order moves queued → held, its slices go down by the batch's sums.

    `slices` names the slice of each pool that is drawn on. With `max_per_buyer` each buyer's counter rises by the
    order's quantity, on condition that the limit holds; a batch then has at most one order per buyer.
    """

    event_id: str
    op: str
    now_ms: int
    hold_ends_at_ms: int
    orders: tuple[WorkHint, ...]
    slices: Mapping[str, int]
    max_per_buyer: int | None


@dataclass(frozen=True, slots=True)
class HoldOutcome:
    """What became of a batch, all or nothing.

    When `held` is False the other fields say why: `gone` orders are no longer queued, `short` pools have too few
    unsold seats in the slice, `over_limit` buyers would exceed their limit.
    """

    held: bool
    gone: frozenset[OrderKey] = frozenset()
    short: frozenset[str] = frozenset()
    over_limit: frozenset[str] = frozenset()


class InventoryStore(Protocol):
    """Seats as counters; no method reads before it writes outside one transaction."""

    def open_inventory(self, sale: Sale) -> None:
        """Create the counters of a new sale's pools; what already stands is left alone."""
        ...

    def get_pool(self, sale: Sale, pool_id: str) -> PoolState:
        """Read one pool with its slices, consistently. NotFound when it was never opened."""
        ...

    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]:
        """Read the per-buyer counters; buyers without one are absent. At most 100 buyers."""
        ...

    def hold_batch(self, batch: HoldBatch) -> HoldOutcome:
        """Carry out one allocating transaction of at most `limits.MAX_BATCH` orders."""
        ...

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        """Write `order` on condition of `seen_rev` and give back its `seats`, in one transaction.

        The seats go back to their slices, or to the pool's `withheld` count. With `max_per_buyer` the buyer's counter
        goes down by the order's quantity. `order` keeps `seats` as a record of where they came from.
        """
        ...

    def draw(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        """Move unassigned seats of the pool into a slice; False when the pool has fewer."""
        ...

    def give_back(self, event_id: str, pool_id: str, slice_no: int, seats: int, *, op: str) -> bool:
        """Move unsold seats of a slice back to the pool; False when the slice has fewer."""
        ...

    def decide_sold_out(self, sale: Sale, pool_id: str, *, seen_round: int, op: str) -> bool:
        """Raise the pool's round and mark it sold out.

        Only if `round` is still `seen_round`, it is not marked yet, and pool and slices have no seat left; else False.
        """
        ...

    def reopen_pool(self, event_id: str, pool_id: str, *, seen_round: int, op: str) -> bool:
        """Take the mark off a sold-out pool to which seats came back; False when its round has moved."""
        ...


# --- control ------------------------------------------------------------------------------------------------------


class Word(StrEnum):
    """Availability as buyers see it."""

    AVAILABLE = "available"
    LAST = "last"
    WAITING = "waiting"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class PoolNotice:
    """One pool as published: its word, round and whether it is sold out."""

    word: Word
    round: int
    sold_out: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """What workers publish about a running sale for the door to read; some seconds old by nature.

    `head_ms` and `newest_ms` are the times of acceptance of the first and the last waiting order (None: nobody
    waits), `waiting` is how many wait, `drained_per_s` the recent pace.
    """

    at_ms: int
    pools: Mapping[str, PoolNotice]
    waiting: int
    head_ms: int | None
    newest_ms: int | None
    drained_per_s: float


@dataclass(frozen=True, slots=True)
class SaleView:
    """A sale with the newest notice about it (None before a worker has published one)."""

    sale: Sale
    notice: Notice | None


@dataclass(frozen=True, slots=True)
class Member:
    """A worker's heartbeat: alive while `beat` moves. `incarnation` tells a restarted name from its predecessor."""

    name: str
    incarnation: str
    beat: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change made by staff: who did what to which thing, when, and how it was before and after."""

    at_ms: int
    who: str
    action: str
    subject: str
    before: str
    after: str


class ControlStore(Protocol):
    """Sales, members and the audit trail: few items, read at most once per process and second."""

    def create_sale(self, sale: Sale) -> Sale:
        """Store a new sale, or return the one that already stands under its event id."""
        ...

    def get_sale(self, event_id: str) -> SaleView:
        """Read a sale and its notice with one call. NotFound when there is none."""
        ...

    def save_sale(self, sale: Sale, *, seen_version: int) -> bool:
        """Replace a sale on condition of its version; an equal stored sale counts as done."""
        ...

    def list_sales(self) -> tuple[SaleView, ...]:
        """Read all sales that are kept."""
        ...

    def publish(self, event_id: str, notice: Notice) -> None:
        """Replace the sale's notice unless a newer one (`at_ms`) stands."""
        ...

    def beat(self, member: Member) -> None:
        """Write a member's heartbeat."""
        ...

    def leave(self, member: Member) -> None:
        """Remove a member, unless a later incarnation has taken the name."""
        ...

    def members(self) -> tuple[Member, ...]:
        """Read all members, alive or not."""
        ...

    def audit(self, entry: AuditEntry) -> None:
        """Append to the audit trail."""
        ...

    def list_audit(self, *, limit: int) -> tuple[AuditEntry, ...]:
        """Read the newest audit entries, newest first."""
        ...


class Store(OrderStore, InventoryStore, ControlStore, Protocol):
    """The whole store: what a composition root hands out."""

    def close(self) -> None:
        """Give back connections and files; further calls raise Unavailable."""
        ...


# A change of one stored item in the shape of a DynamoDB stream record (`eventID`, `eventName`, `eventSourceARN`,
# `dynamodb: {Keys, NewImage?, OldImage?, SequenceNumber, ApproximateCreationDateTime, StreamViewType}`).
StreamRecord = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Records of one stream shard in order; `cursor` is where to go on, None once the stream shard has ended."""

    records: tuple[StreamRecord, ...]
    cursor: str | None


class ChangeLog(Protocol):
    """The stream of changes to orders, cut into stream shards; read by the local pump only."""

    def stream_shards(self) -> tuple[str, ...]:
        """Return the stream shards' names, parents before children."""
        ...

    def read_changes(self, stream_shard: str, *, cursor: str | None, limit: int) -> StreamPage:
        """Read on from `cursor` (None: from the oldest record kept)."""
        ...


# --- payment ------------------------------------------------------------------------------------------------------


class IntentStatus(StrEnum):
    """How an intent stands at the payment service."""

    OPEN = "open"
    """It can still be paid; the last try, if any, was declined."""
    PROCESSING = "processing"
    """The money is on its way, and the intent cannot be closed now."""
    SUCCEEDED = "succeeded"
    CLOSED = "closed"
    """It can never be paid any more."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A payment intent as the payment service tells it.

    `order_key` is None when the intent carries no valid tag of this environment: it is not ours, and is never touched.
    """

    intent_id: str
    status: IntentStatus
    amount: Money
    captured_minor: int
    refunded_minor: int
    client_secret: str | None
    decline_code: str | None
    order_key: OrderKey | None
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class IntentPage:
    """Some intents, newest first; `cursor` is None at the end."""

    intents: tuple[Intent, ...]
    cursor: str | None


class PaymentGateway(Protocol):
    """The payment service. Every method may raise `Unavailable`; nothing else than `Intent` is believed."""

    def open_intent(self, key: OrderKey, amount: Money) -> Intent:
        """Create the order's one intent, never confirmed, or fetch it: repeatable for ever, never a second one."""
        ...

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        """Carry out one written try; repeatable under the same attempt. A decline is an OPEN intent with its code."""
        ...

    def fetch(self, intent_id: str) -> Intent:
        """Read one intent; NotFound when the payment service has none of that id."""
        ...

    def close_intent(self, intent: Intent) -> Intent:
        """Cancel the intent if that is still possible, and return how it then stands."""
        ...

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        """Bring what was paid back of the intent up to `total_minor`; repeatable, never above it."""
        ...

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        """Page through what the payment service knows, for reconciliation and verification."""
        ...
