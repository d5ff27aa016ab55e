"""Staff in the middle of a night: pauses, growth, more and fewer seats, refunds, the end of the sale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingest.audit_trail import Actor
from ingest.change_pool import change_capacity, change_withheld
from ingest.change_sale import cancel_sale, close_sale, pause_sale, resume_sale
from ingest.parts import Parts
from ingest.refund_order import RefundWish, refund_order
from ingest.refund_sale import refund_page
from ingest.reshard_sale import reshard_sale
from shared.domain.errors import Refused, Unavailable
from shared.domain.order import Order
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
    pick: Callable[[], Order | None]
    asked_back: Callable[[Order, int], None]

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
            case Deed.REFUND_ALL:
                self._refund_all()
            case Deed.REFUND | Deed.REFUND_PART | Deed.REFUND_WITHHOLD:
                self._refund(wish)

    def _refund(self, wish: StaffPlan) -> None:
        """Pay a confirmed order back, and ask twice, as staff do who saw no answer."""
        order = self.pick()
        if order is None:
            return
        part = wish.figure if wish.deed is Deed.REFUND_PART else None
        if part is not None:
            self.asked_back(order, part)
        wanted = RefundWish(part, withhold=wish.deed is Deed.REFUND_WITHHOLD)
        for _ in range(2):
            refund_order(self.door, "gig", order.key.order_id, ME, wanted)

    def _refund_all(self) -> None:
        """Walk a cancelled sale once."""
        for shard in range(max(self.door.store.get_sale("gig").sale.shard_counts)):
            cursor: str | None = None
            while True:
                page = refund_page(self.door, "gig", ME, shard=shard, cursor=cursor, limit=3, dry_run=False)
                cursor = page.cursor
                if cursor is None:
                    break
