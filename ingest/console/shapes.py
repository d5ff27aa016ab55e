"""The shapes of a console's frame: cards of figures, each with the time at which it was true."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer, MoneyAnswer
from shared.domain.sale import SaleStatus
from shared.ports.control import Word


class Card(Answer):
    """What every card has: when its figures were read, and why there are no newer ones."""

    as_of: str | None = Field(default=None, description="When the figures were read; absent: never yet.")
    trouble: str | None = Field(default=None, description="Why there are no newer figures, in a sentence.")


class FunnelCard(Card):
    """Where the event's orders stand, as the stream of changes tells, and what the door answered."""

    asked: int = Field(default=0, description="Orders asked for at the door, over all sales, since it started.")
    refused: dict[str, int] = Field(default_factory=dict, description="Refusals at the door by reason, likewise.")
    repeated: int = Field(default=0, description="Requests that met their own first attempt, likewise.")
    accepted: int = Field(default=0, description="Orders of this event, whatever became of them.")
    by_status: dict[str, int] = Field(default_factory=dict)
    waiting: int | None = Field(default=None, description="In line, as the workers last said.")
    drained_per_s: float | None = Field(default=None, description="Orders that leave the line a second, likewise.")
    counted_until: str | None = Field(default=None, description="The newest change that the stream has counted.")


class ThrottlePoint(Answer):
    """Some seconds of attempts at the store."""

    at_ms: int
    attempts: int
    throttled: int


class ThrottleCard(Card):
    """Attempts at the store that were refused for want of capacity."""

    processes: list[str] = Field(default_factory=list, description="Whose attempts are counted.")
    attempts: int = 0
    throttled: int = 0
    rate: float = Field(default=0.0, description="Throttled attempts over attempts, all the time.")
    recent_rate: float = Field(default=0.0, description="The same over the last minute.")
    every_s: int = 0
    points: list[ThrottlePoint] = Field(default_factory=list)
    reasons: dict[str, int] = Field(default_factory=dict, description="In the time of the points, by reason.")
    explained: list[str] = Field(default_factory=list, description="The commonest throttles, a sentence each.")


class ShardCard(Card):
    """The event's shards side by side: one entry for each shard in each list."""

    shards: int = 0
    depth: list[int] = Field(default_factory=list, description="Orders in line.")
    oldest_s: list[float | None] = Field(default_factory=list, description="How long the first in line has waited.")
    arrivals_per_s: list[float] = Field(default_factory=list)
    over_s: int = Field(default=0, description="Over how many seconds the arrivals are taken.")
    looked_at: int = Field(default=0, description="Shards whose first in line was read for this card.")


class HotName(Answer):
    """One hot key, event or buyer."""

    name: str
    writes: int
    share: float
    above_share: bool = Field(description="More than a tenth of all writes.")


class HotKeyCard(Card):
    """The hottest keys, events and buyers of the last minutes."""

    over_s: int = 0
    writes: int = 0
    missed: int = Field(default=0, description="By how much any key's count may be too low.")
    keys: list[HotName] = Field(default_factory=list)
    events: list[HotName] = Field(default_factory=list)
    buyers: list[HotName] = Field(default_factory=list)
    max_over_mean: float | None = Field(default=None, description="The fullest shard of this event over the mean.")
    uneven: bool = False
    advice: list[str] = Field(default_factory=list)


class TypeSales(Answer):
    """One ticket type. Types of one pool share its seats, and the inventory counts by pool."""

    ticket_type_id: str
    name: str
    price: MoneyAnswer
    pool_id: str
    availability: Word
    shares_pool_with: list[str] = Field(default_factory=list)


class PoolSum(Answer):
    """One pool's own sum: unassigned + unsold + taken + withheld = capacity."""

    pool_id: str
    capacity: int
    unassigned: int
    unsold: int
    taken: int
    withheld: int
    round: int
    sold_out: bool
    balanced: bool | None = Field(default=None, description="Absent while the counters move under the reader.")


class SalesCard(Card):
    """Sales per ticket type, and the inventory's own sum; from the inventory, never from the stream."""

    types: list[TypeSales] = Field(default_factory=list)
    pools: list[PoolSum] = Field(default_factory=list)


class WorkerRow(Answer):
    """One worker and what falls to it of this event."""

    name: str
    live: bool
    silent_s: float = Field(description="How long its heartbeat has stood still, as seen from here.")
    shards: list[int] = Field(default_factory=list)
    slices: list[str] = Field(default_factory=list, description="As `pool/slice`.")


class WorkerCard(Card):
    """The workers with their shards and slices of this event."""

    workers: list[WorkerRow] = Field(default_factory=list)


class ParkedCard(Card):
    """How many orders of the event were set aside for a person."""

    parked: int = 0
    by_shard: dict[str, int] = Field(default_factory=dict)


class PaymentCard(Card):
    """Calls to the payment service as far as their callers can be seen from here, and the last reconciliation."""

    calls: dict[str, dict[str, int]] = Field(default_factory=dict, description="By call and outcome.")
    notices: dict[str, int] = Field(default_factory=dict, description="News that it sent, by what became of it.")
    reconciled_at: str | None = None
    open: int | None = Field(default=None, description="Differences left after the last reconciliation.")
    for_a_person: int | None = None


class VerifyCard(Card):
    """The last verification of this event."""

    verified_at: str | None = None
    good: bool | None = None
    invariants: dict[str, str] = Field(default_factory=dict, description="true, false or unchecked.")


class Change(Answer):
    """One change made by staff."""

    at: str
    who: str
    action: str
    subject: str
    after: str


class ChangeCard(Card):
    """What staff changed last, in all sales."""

    changes: list[Change] = Field(default_factory=list)


class Frame(Answer):
    """One look at a sale; its age is at most a second more than that of its cards."""

    event_id: str
    name: str
    status: SaleStatus
    allocation_paused: bool
    opens_at: str
    closes_at: str
    server_time: str
    funnel: FunnelCard
    throttles: ThrottleCard
    shards: ShardCard
    hot_keys: HotKeyCard
    sales: SalesCard
    workers: WorkerCard
    parked: ParkedCard
    payments: PaymentCard
    verify: VerifyCard
    changes: ChangeCard
