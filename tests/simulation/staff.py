"""Staff in the middle of a night: pauses, growth, more and fewer seats, the end of the sale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingest.audit_trail import Actor
from ingest.change_pool import change_capacity, change_withheld
from ingest.change_sale import cancel_sale, close_sale, pause_sale, resume_sale
from ingest.parts import Parts
from ingest.reshard_sale import reshard_sale
from shared.domain.errors import Refused, Unavailable
from tests.simulation.plan import Deed, StaffPlan
from tests.simulation.scheduler import Scheduler

ME = Actor("staff")
PATIENCE = 20


@dataclass(frozen=True, slots=True)
class Staff:
    """Does what the plan says, again and again until there is an answer."""

    door: Parts
    scheduler: Scheduler
    note: Callable[[str], None]

    def do(self, wish: StaffPlan) -> None:
        """Do one deed."""
        for _ in range(PATIENCE):
            try:
                self._ask(wish)
            except Unavailable:
                self.scheduler.wait(500)
                continue
            except Refused as refusal:
                self.note(f"staff: {wish.deed} {wish.figure} is refused: {refusal.message}")
                return
            self.note(f"staff: {wish.deed} {wish.figure or ''}")
            return

    def _ask(self, wish: StaffPlan) -> None:
        match wish.deed:
            case Deed.PAUSE | Deed.PAUSE_ALL:
                pause_sale(self.door, "gig", ME, allocation_too=wish.deed is Deed.PAUSE_ALL)
            case Deed.RESUME:
                resume_sale(self.door, "gig", ME)
            case Deed.RESHARD:
                reshard_sale(self.door, "gig", ME, shards=wish.figure)
            case Deed.CAPACITY:
                change_capacity(self.door, "gig", wish.pool_id, ME, capacity=wish.figure)
            case Deed.WITHHOLD:
                change_withheld(self.door, "gig", wish.pool_id, ME, withheld=wish.figure)
            case Deed.CLOSE:
                close_sale(self.door, "gig", ME)
            case Deed.CANCEL:
                cancel_sale(self.door, "gig", ME)
