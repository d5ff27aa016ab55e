"""One allocating pass over one group of an event's shards.

Read the line and the pools, let the allocator decide, fetch the seats that the oldest lack, hold the batch in one
transaction, and reject what has no hope. A group that can hold nothing has overdue holds looked at, and gives the
seats it cannot use back to the pool, so that they reach an order that fits wherever it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from consumers.allocation.held_seats import HeldSeats
from consumers.allocation.hold import Holding, batch_limit
from consumers.allocation.line import Line, Shape
from consumers.allocation.notice import NoticeBoard
from consumers.allocation.outlook import Outlook
from consumers.allocation.reject import park_unknown, reject_orders
from consumers.allocation.sold_out import Rounds
from consumers.allocation.stock import Holdings, draw_for, give_back_idle, read_holdings
from consumers.pace import REST_S, Pace, Poll
from consumers.tasks import GroupTask, idle_s, shards_of
from consumers.tools import Tools
from shared.domain.allocator import Decisions, Rejection, allocate
from shared.domain.errors import Contended, Unavailable
from shared.domain.order import Reason
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale, SaleStatus
from shared.stores.limits import MAX_BATCH

# Orders that one pass looks at; with a per-buyer limit as many as the store reads counters of at once.
LOOKED_AT = 4 * MAX_BATCH
LOOKED_AT_WITH_LIMIT = 100
# Orders of one buyer among them, so that a bot's hundreds do not keep its neighbours waiting.
PER_BUYER = 3
# Rejections in one pass: few while there are seats to give, more when that is all there is to do.
FEW_REJECTIONS = 16
MANY_REJECTIONS = 128
# Looks at the pools: as often as this while they change, as rarely as this when nobody waits.
POOLS_S = 0.1
POOLS_IDLE_S = 5.0
POOLS_AWAITED_S = 0.5
# Overdue holds and sold-out decisions are looked into at most this often.
DRY_LOOK_S = 0.5
CONTENDED_S = 0.05
# An order that cannot be read is left alone for this long.
POISON_SKIP_S = 600.0


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass did; the next one is useful after `next_s` seconds. `dry`: orders wait that nothing fits."""

    held: tuple[OrderKey, ...] = ()
    rejected: int = 0
    dry: bool = False
    next_s: float = 0.0


@dataclass(slots=True)
class Allocation:
    """What one worker remembers of one group between passes: hints only, all of it can be lost.

    `settle_overdue` is called when the group runs dry: it has the sale's overdue holds looked at.
    """

    tools: Tools
    task: GroupTask
    settle_overdue: Callable[[Sale], None]
    line: Line = field(init=False)
    _rounds: Rounds = field(init=False)
    _board: NoticeBoard = field(init=False)
    _pace: Pace = field(init=False)
    _pools_poll: Poll = field(init=False)
    _holdings: Holdings | None = None
    _outlook: Outlook | None = None
    _hungry: bool = False
    _most: int = MAX_BATCH
    _dry_at_s: float = float("-inf")
    _decide_at_s: float = float("-inf")

    def __post_init__(self) -> None:
        """Know nothing yet."""
        self.line = Line(self.tools, self.task.event_id)
        self._rounds = Rounds(self.tools, HeldSeats(self.tools))
        self._board = NoticeBoard(self.tools, self.task.event_id)
        self._pace = Pace(self.tools.ids, MAX_BATCH)
        self._pools_poll = Poll(POOLS_S, POOLS_IDLE_S)

    def allocate_once(self, sale: Sale, most: int = MAX_BATCH) -> Pass:
        """Make one pass that holds at most `most` orders.

        Nothing is raised for a store that does not answer: the next pass comes later.
        """
        self._most = most
        now_s = self.tools.clock.monotonic_s()
        if now_s < self._pace.rests_until_s:
            return Pass(next_s=self._pace.rests_until_s - now_s)
        try:
            return self._pass(sale, now_s)
        except Unavailable as error:
            self._pace.give_way(now_s, CONTENDED_S if isinstance(error, Contended) else REST_S)
            self._hungry = True
            self.tools.observe(sale.event_id, f"allocation_{error.code}", 1)
            return Pass(next_s=self._pace.rests_until_s - now_s)

    def _pass(self, sale: Sale, now_s: float) -> Pass:
        shards = shards_of(sale, self.task.group)
        self.line.watch(shards, idle_s=idle_s(sale, self.tools.clock.now_ms()))
        found = self.line.read(self._decidable, hungry=self._hungry)
        if not (found or self._hungry or self._pools_poll.is_due(now_s)):
            return Pass(next_s=self._next_s(now_s))
        before = self._holdings
        self._holdings = self._read(sale)
        if sale.allocation_paused:
            done = Pass()
            self._hungry = False
        else:
            done = self._serve(sale, now_s)
        busy = self._hungry or self._holdings != before
        self._pools_poll.idle_s = POOLS_AWAITED_S if len(self.line) else POOLS_IDLE_S
        self._pools_poll.looked(now_s, found=busy)
        if self.task.group == 0:
            self._board.drained(len(done.held) + done.rejected)
            self._board.publish(sale, self._holdings.pools, self.line, len(shards))
        return Pass(done.held, done.rejected, done.dry, self._next_s(now_s))

    def _next_s(self, now_s: float) -> float:
        if self._hungry:
            return 0.0
        return max(0.0, min(self._pools_poll.next_s, self.line.next_read_s()) - now_s)

    def _decidable(self, shape: Shape) -> bool:
        return self._outlook is None or self._outlook.decidable(shape)

    def _read(self, sale: Sale) -> Holdings:
        return read_holdings(self.tools, sale, self.task.group)

    # --- serving --------------------------------------------------------------------------------------------------

    def _serve(self, sale: Sale, now_s: float) -> Pass:
        decisions, holdings = self._decide(sale)
        hopeless = self._hopeless(decisions)
        most = FEW_REJECTIONS if decisions.hold else MANY_REJECTIONS
        outcome = Holding(self.tools, sale, holdings)
        outcome.hold(decisions.hold)
        self.line.settled([*outcome.held, *outcome.gone])
        self.line.settled(outcome.poison, skip_s=POISON_SKIP_S)
        for shard in outcome.throttled:
            self.line.spare(shard)
        rejected = reject_orders(self.tools, sale.event_id, hopeless[:most]) if hopeless else []
        self.line.settled(rejected)
        self.tools.observe(sale.event_id, "held", len(outcome.held))
        tried = len(outcome.held) + len(outcome.gone)
        if tried:
            self._pace.note(now_s, tried=tried, gone=len(outcome.gone))
        idle = not (decisions.hold or hopeless)
        if idle:
            self._use_the_lull(sale, holdings, now_s)
        left = any(pool.left > 0 for pool in holdings.pools.values())
        self._hungry = not idle or (left and not self.line.complete)
        return Pass(tuple(outcome.held), len(rejected), dry=bool(decisions.unfit) and idle)

    def _decide(self, sale: Sale) -> tuple[Decisions, Holdings]:
        """Decide with all seats within reach and fetch what the batch lacks; where others are faster, with our own."""
        for reach in (True, True, False):
            holdings = self._holdings = self._reopened(sale, self._holdings or self._read(sale))
            self._outlook = Outlook(sale, holdings, reach=reach, ended=self._ended_pools(sale, holdings))
            decisions = self._ask_allocator(sale, holdings, self._outlook)
            if not reach or draw_for(self.tools, sale, holdings, decisions.hold):
                return decisions, holdings
            self._holdings = self._read(sale)
        raise AssertionError("the last round needs no draw")

    def _ask_allocator(self, sale: Sale, holdings: Holdings, outlook: Outlook) -> Decisions:
        limited = sale.max_per_buyer is not None
        waiting = self.line.candidates(
            outlook.decidable,
            most=LOOKED_AT_WITH_LIMIT if limited else LOOKED_AT,
            per_buyer=PER_BUYER if limited else None,
        )
        for hint in [hint for hint in waiting if not outlook.known(hint.demand)]:
            park_unknown(self.tools, hint)
            self.line.settled([hint.key], skip_s=POISON_SKIP_S)
            waiting.remove(hint)
        if sale.status is SaleStatus.CANCELLED:
            rejections = tuple(Rejection(hint, Reason.SALE_CANCELLED) for hint in waiting)
            return Decisions((), rejections, (), (), {})
        counts = (
            self.tools.store.buyer_counts(sale.event_id, sorted({hint.buyer_id for hint in waiting}))
            if limited and waiting
            else {}
        )
        decisions = allocate(
            waiting,
            holdings.stock(holdings.within_reach if outlook.reach else holdings.own),
            batch_size=batch_limit(sale, min(self._most, self._pace.size)),
            buyer_counts=counts,
            max_per_buyer=sale.max_per_buyer,
        )
        return self._with_all_of_the_served(sale, decisions, counts)

    def _with_all_of_the_served(self, sale: Sale, decisions: Decisions, counts: Mapping[str, int]) -> Decisions:
        """Add every known order of buyers who have all they may have to those that are rejected."""
        most = sale.max_per_buyer
        over = {no.hint.buyer_id for no in decisions.reject if no.reason is Reason.OVER_BUYER_LIMIT}
        served = {buyer_id for buyer_id in over if most is not None and counts.get(buyer_id, 0) >= most}
        if not served:
            return decisions
        known = {rejection.hint.key for rejection in decisions.reject}
        more = (hint for hint in self.line.of_buyers(served, most=MANY_REJECTIONS) if hint.key not in known)
        added = (Rejection(hint, Reason.OVER_BUYER_LIMIT) for hint in more)
        return replace(decisions, reject=(*decisions.reject, *added))

    def _hopeless(self, decisions: Decisions) -> list[Rejection]:
        """Return the allocator's rejections and the orders that did not fit and never will."""
        outlook = self._outlook
        if outlook is None:
            return list(decisions.reject)
        never = [(hint, outlook.why_hopeless(hint.demand)) for hint in decisions.unfit]
        return [*decisions.reject, *(Rejection(hint, reason) for hint, reason in never if reason is not None)]

    # --- when nothing fits ----------------------------------------------------------------------------------------

    def _use_the_lull(self, sale: Sale, holdings: Holdings, now_s: float) -> None:
        dry = any(pool.left == 0 and not pool.sold_out for pool in holdings.pools.values())
        if (len(self.line) or dry) and now_s - self._dry_at_s >= DRY_LOOK_S:
            self._dry_at_s = now_s
            self.settle_overdue(sale)
        left = any(pool.left > 0 for pool in holdings.pools.values())
        if self.line.complete and left:
            give_back_idle(self.tools, sale, holdings)
        if self.task.group == 0 and dry and now_s - self._decide_at_s >= DRY_LOOK_S:
            self._decide_at_s = now_s
            for pool in holdings.pools.values():
                self._rounds.decide(sale, pool)

    def _reopened(self, sale: Sale, holdings: Holdings) -> Holdings:
        reopened = [self._rounds.reopen(sale, pool) for pool in holdings.pools.values()]
        return self._read(sale) if any(reopened) else holdings

    def _ended_pools(self, sale: Sale, holdings: Holdings) -> frozenset[str]:
        """Return the pools of an ended sale whose held seats are all gone, so that what does not fit never will."""
        if not len(self.line) or not sale.ended(self.tools.clock.now_ms()):
            return frozenset()
        return frozenset(pool.pool_id for pool in holdings.pools.values() if self._rounds.cannot_come_back(sale, pool))
