"""Sales, notices about them, members and the audit trail."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.domain.sale import Sale


class Word(StrEnum):
    """Availability as buyers see it."""

    AVAILABLE = "available"
    LAST = "last"
    WAITING = "waiting"
    GONE = "gone"


class PoolNotice(Struct, frozen=True):
    """One pool as published: its word, round and whether it is sold out."""

    word: Word
    round: int
    sold_out: bool


class Notice(Struct, frozen=True):
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


class SaleView(Struct, frozen=True):
    """A sale with the newest notice about it (None before a worker has published one)."""

    sale: Sale
    notice: Notice | None


class Member(Struct, frozen=True):
    """A worker's heartbeat: alive while `beat` moves. `incarnation` tells a restarted name from its predecessor."""

    name: str
    incarnation: str
    beat: int


class AuditEntry(Struct, frozen=True):
    """One change made by staff: who did what to which thing, when, and how it was before and after."""

    at_ms: int
    who: str
    action: str
    subject: str
    before: str
    after: str


class GrantTurn(Struct, frozen=True):
    """One grant item as it stands: how often it was taken (0: never), and whether the asking call did so last."""

    turn: int
    taken: bool


class CheckReport(Struct, frozen=True):
    """How a check went when it last ran: `check` names it (`verify`, `reconcile`), `subject` what it looked at.

    `good` says that nothing needs a person; `facts` are a few short texts, such as each invariant's answer.
    """

    check: str
    subject: str
    at_ms: int
    good: bool
    facts: Mapping[str, str]


class ControlStore(Protocol):
    """Sales, members, reports and the audit trail: few items, read at most once per process and second."""

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

    def take_grant(self, event_id: str, grant_no: int, *, seen: int, op: str) -> GrantTurn:
        """Take one of a sale's grant items in its next turn, on condition that its turn is still `seen`.

        One conditional write. When it fails the item's present turn comes back, which is how a process learns of it.
        """
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

    def note_check(self, report: CheckReport) -> None:
        """Replace the last report of this check on this subject unless a newer one (`at_ms`) stands."""
        ...

    def list_checks(self) -> tuple[CheckReport, ...]:
        """Read the last report of every check on every subject; may lag a moment behind."""
        ...

    def audit(self, entry: AuditEntry) -> None:
        """Append to the audit trail."""
        ...

    def list_audit(self, *, limit: int) -> tuple[AuditEntry, ...]:
        """Read the newest audit entries, newest first."""
        ...
