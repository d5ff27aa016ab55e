"""One night: the real door and back office over an in-memory store, in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from aws_lambda_powertools import Logger
from msgspec.structs import replace

from consumers.membership import Membership
from consumers.reconcile.walk import Reconciler
from consumers.steps import BackOffice
from consumers.tasks import IDLE_LOOKS_PER_S
from consumers.tools import Tools
from ingest.parts import Parts, make_parts
from shared.domain.errors import AnswerLost, Unavailable
from shared.domain.money import Money
from shared.domain.order import Order, Status
from shared.domain.order_id import order_key
from shared.domain.sale import group_of
from shared.ports.payment import IntentStatus
from shared.ports.store import Store
from shared.retry import Retrier, RetryPolicy
from shared.stores.faults import Chance, Fault, FaultyStore
from shared.stores.retrying import RetryingStore
from shared.stores.sqlite import SqliteStore
from shared.stores.wrapped import WrappedStore
from tests.fakes.payment import FakePayments
from tests.fakes.system import SeededIds
from tests.simulation.crowd import Crowd
from tests.simulation.deaf import DeafCache
from tests.simulation.hooks import Hooks
from tests.simulation.plan import RUSH_MS, Deed, NightPlan, StaffPlan
from tests.simulation.scheduler import Actor, ActorClock, Scheduler
from tests.simulation.staff import Staff
from tests.simulation.tail import Tail
from tests.simulation.watcher import InvariantBroken, Watcher

T = TypeVar("T")

# Calls during which nobody else gets a turn: the door's cache holds a lock while it reads a sale.
UNDIVIDED = frozenset({"get_sale", "list_sales", "beat", "members", "leave", "audit"})
WORKER_STEP_S = 0.2
# Virtual time after the rush in which everything must come to rest.
REST_MS = 300_000
RECONCILES_MS = 40_000
# As long as what began before all was well may last: a paused process, a shard that was left alone.
ASLEEP_MS = 25_000
# As long as workers need to look at what they know of and to take over from each other, whatever the shard count.
LULL_MS = 6_000
LOGGER = Logger(service="simulation", level="CRITICAL")


class TurnTakingStore(WrappedStore):
    """Lets others take a turn before each call, and again before its answer arrives."""

    def __init__(self, inner: Store, night: Night) -> None:
        """Stand before the watched store."""
        super().__init__(inner)
        self._night = night

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:
        if method in UNDIVIDED:
            return run()
        self._night.pass_turn()
        answer = run()
        self._night.pass_turn()
        return answer


@dataclass(slots=True)
class Night:
    """One run of one plan. `change` plants a fault: it may alter the bare store's wrapper or the payments."""

    plan: NightPlan
    wrap: Callable[[Store], Store] = lambda store: store
    wrap_gateway: Callable[[FakePayments], FakePayments] = lambda payments: payments
    trace: list[str] = field(default_factory=list)
    rng: random.Random = field(init=False)
    scheduler: Scheduler = field(init=False)
    watcher: Watcher = field(init=False)
    payments: FakePayments = field(init=False)
    store: Store = field(init=False)
    doors: list[Parts] = field(init=False)
    staff: Staff = field(init=False)
    tail: Tail = field(init=False)
    crowd: Crowd = field(init=False)

    def __post_init__(self) -> None:
        """Open the sale."""
        self.rng = random.Random(self.plan.seed ^ 0x5EED)
        self.scheduler = Scheduler(self.rng, note=self.note)
        self.payments = self.wrap_gateway(FakePayments(ActorClock(self.scheduler)))
        self.payments.before, self.payments.after = self._before_payment, self._after_payment
        bare = SqliteStore(None, ActorClock(self.scheduler))
        bare.open_inventory(self.plan.sale)
        bare.create_sale(self.plan.sale)
        self.watcher = Watcher(self.wrap(bare), self.plan.sale, self.payments, self.note)
        self.store = TurnTakingStore(self.watcher, self)
        self.doors = [self._door(number) for number in range(self.plan.doors)]
        self.crowd = Crowd(self.scheduler, self.rng, self.doors, self.payments, self.plan.weather.door_crash, self.note)
        hooks = Hooks(self.scheduler, random.Random(self.plan.seed ^ 0x400C), self.plan.weather, self.doors)
        self.payments.tell, self.payments.forgets = hooks.tell, self._forgets
        self.staff = Staff(self.doors[0], self.scheduler, self.note, self._any_confirmed, self.watcher.asked_back)
        self.tail = Tail(bare, ActorClock(self.scheduler), self.scheduler, self.rng)

    # --- the run --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Play the night to its end; InvariantBroken when a promise did not hold."""
        for number in range(self.plan.workers):
            self._start_worker(f"worker-{number}", number, after_ms=self.rng.randrange(1_000))
        for number, buyer in enumerate(self.plan.buyers):
            self.scheduler.start(
                Actor(f"{buyer.name}/{number}", self.crowd.life_of(buyer, number)), after_ms=buyer.at_ms
            )
        self.scheduler.start(Actor("bank", self._bank), after_ms=1_000)
        self.scheduler.start(Actor("reconciler", self._reconcile), after_ms=RECONCILES_MS)
        for number in range(self.plan.strays):
            self.scheduler.start(Actor("stray", partial(self._stray, number)), after_ms=self.rng.randrange(RUSH_MS))
        for wish in self.plan.staff:
            self.scheduler.start(Actor("staff", partial(self.staff.do, wish)), after_ms=wish.at_ms)
        self.scheduler.start(Actor("stream", self.tail.live), after_ms=1_000)
        begin_ms = self.scheduler.now_ms
        try:
            self.scheduler.run(begin_ms + self.plan.rush_ends_ms, each_turn=self.watcher.check_books)
            self.scheduler.healed = True
            wakes_ms = max(begin_ms + RUSH_MS, self.scheduler.now_ms + ASLEEP_MS)
            self.scheduler.run(wakes_ms, each_turn=self.watcher.check_books)
            if any(one.deed in {Deed.PAUSE, Deed.PAUSE_ALL} for one in self.plan.staff):
                # A pause that was held up on its way may have come after its resume; staff look once more.
                self.staff.do(StaffPlan(0, Deed.RESUME))
            self._run_until(self._nothing_held)
            self.watcher.check_sell_through()
            self.staff.do(StaffPlan(0, Deed.CLOSE))
            self._run_until(self._all_ended)
            if any(one.deed is Deed.REFUND_ALL for one in self.plan.staff):
                self.staff.do(StaffPlan(0, Deed.REFUND_ALL))
                self._run_until(self._all_ended)
                self.watcher.check_all_paid_back()
            self.watcher.check_end()
            self._check_reconciled()
            self._check_receipts()
            self.tail.check(self.watcher)
        finally:
            self.scheduler.end()
            self.tail.close()
            self.store.close()

    def _run_until(self, done: Callable[[], bool]) -> None:
        """Let time pass until `done` has held for a while, or patience ends."""
        lull_ms = self._lull_ms()
        for _ in range(REST_MS // lull_ms):
            self.scheduler.run(self.scheduler.now_ms + lull_ms, each_turn=self.watcher.check_books)
            if done():
                self.scheduler.run(self.scheduler.now_ms + lull_ms, each_turn=self.watcher.check_books)
                if done():
                    return

    def _lull_ms(self) -> int:
        """Return how long workers may look away from a quiet line: the longer, the more shards there are."""
        grown = (one.figure for one in self.plan.staff if one.deed is Deed.RESHARD)
        most = max(self.plan.sale.shards, *grown, 0)
        return LULL_MS + 1000 * most // IDLE_LOOKS_PER_S

    def _nothing_held(self) -> bool:
        return not any(order.status is Status.HELD for order in self.watcher.orders.values())

    def _all_ended(self) -> bool:
        known = all(intent.order_key in self.watcher.orders for intent in self.payments.intents.values())
        return known and all(order.work is None for order in self.watcher.orders.values())

    def _check_reconciled(self) -> None:
        report = Reconciler(self.store, self.payments, ActorClock(self.scheduler), SeededIds(0)).walk()
        if report.open:
            raise InvariantBroken(f"I4: the reconciler still finds {report.as_dict()}")

    def _check_receipts(self) -> None:
        for who, keys in self.crowd.receipts.items():
            if not keys <= set(self.watcher.orders):
                raise InvariantBroken(f"I2: the order of {who} was accepted and is not stored")
            standing = {self.watcher.standing(key) for key in keys}
            if len(standing) > 1:
                raise InvariantBroken(f"I3: one key of {who} was answered with {len(standing)} orders: {standing}")

    # --- processes ------------------------------------------------------------------------------------------------

    def _own_store(self, name: str, clock: ActorClock) -> tuple[Store, SeededIds]:
        """Return the store as one process sees it: faults of its own, and retries before them."""
        ids = SeededIds(self.rng.randrange(2**32))
        weather = self.plan.weather
        rates = {
            Fault.THROTTLED: weather.fault_rate / 4,
            Fault.CONTENDED: weather.fault_rate / 4,
            Fault.LOST_BEFORE: weather.fault_rate / 4,
            Fault.LOST_AFTER: weather.fault_rate / 4,
            Fault.HINTS_LATE: weather.hint_rate / 3,
            Fault.HINTS_REPEATED: weather.hint_rate / 3,
            Fault.HINTS_REORDERED: weather.hint_rate / 3,
            Fault.SHORT_PAGE: weather.hint_rate / 10,
            Fault.EMPTY_PAGE: weather.hint_rate / 10,
        }
        faulty = FaultyStore(self.store, Luck(Chance(SeededIds(self.rng.randrange(2**32)), rates), self.scheduler))
        policy = RetryPolicy(deadline_s=2.0, cap_s=0.25)
        return RetryingStore(faulty, Retrier(clock, ids, clock.sleep_s, policy=policy)), ids

    def _door(self, number: int) -> Parts:
        clock = ActorClock(self.scheduler, skew_ms=self.plan.weather.skew_ms * (-1) ** number)
        store, ids = self._own_store(f"door-{number}", clock)
        parts = make_parts(store, clock, ids, processes=1, check_chargeable=_any_price, logger=LOGGER)
        if number < self.plan.doors - self.plan.deaf_doors:
            return parts
        return replace(parts, sales=DeafCache(store, clock, self.plan.sale.shard_counts))

    def _start_worker(self, name: str, number: int, *, after_ms: int) -> None:
        clock = ActorClock(self.scheduler, skew_ms=self.plan.weather.skew_ms * number)

        def live() -> None:
            store, ids = self._own_store(name, clock)
            office = BackOffice(Tools(store, self.payments, clock, ids))
            membership = Membership(store, clock, name, ids.op_id())
            while True:
                self._work(store, office, membership)
                clock.sleep_s(WORKER_STEP_S)

        def again() -> None:
            self._start_worker(name, number, after_ms=self.rng.randrange(10_000))

        self.scheduler.start(Actor(name, live, self.plan.weather.worker_crash, again), after_ms=after_ms)

    def _work(self, store: Store, office: BackOffice, membership: Membership) -> None:
        try:
            membership.tick()
            sales = store.list_sales()
        except Unavailable:
            return
        for view in sales:
            for group in range(view.sale.groups):
                if membership.owns(f"group#{group}"):
                    office.allocate_once(view.sale, group)
            for shard in range(view.sale.shards):
                if membership.owns(f"group#{group_of(view.sale, shard)}"):
                    try:
                        office.sweep_once(view.sale, shard)
                    except Unavailable:
                        continue

    def _reconcile(self) -> None:
        """Walk again and again; a back end in trouble is tried again next time."""
        clock = ActorClock(self.scheduler)
        store, ids = self._own_store("reconciler", clock)
        while True:
            try:
                Reconciler(store, self.payments, clock, ids).walk()
            except Unavailable:
                self.note("reconciler: a back end is silent")
            self.scheduler.wait(RECONCILES_MS)

    def _stray(self, number: int) -> None:
        """Take money for an order that never was, as after a store was restored from an old copy."""
        sale = self.plan.sale
        digest = random.Random(self.plan.seed * 100 + number).randbytes(16)
        self.payments.charge_nobody(order_key("gig", digest, sale.shard_counts, 1), Money(700, "EUR"))

    # --- people ---------------------------------------------------------------------------------------------------

    def _any_confirmed(self) -> Order | None:
        """Return a confirmed order that staff might pay back."""
        found = [order for order in self.watcher.orders.values() if order.status is Status.CONFIRMED]
        return self.rng.choice(found) if found else None

    def _bank(self) -> None:
        """Bring payments that are under way to an end, one way or the other."""
        while True:
            self.scheduler.wait(self.rng.randrange(500, 10_000))
            for intent in list(self.payments.intents.values()):
                if intent.status is IntentStatus.PROCESSING and intent.order_key is not None:
                    self.payments.finish(intent.order_key.order_id, paid=self.rng.random() < 0.6)

    # --- luck -----------------------------------------------------------------------------------------------------

    def pass_turn(self) -> None:
        """Wait as a network call does, now and then for very long."""
        if not self.scheduler.healed and self.rng.random() < self.plan.weather.pause_rate:
            self.scheduler.wait(self.rng.randrange(1_000, 20_000))
        else:
            self.scheduler.wait(self.rng.randrange(1, 15))

    def note(self, line: str) -> None:
        """Write a line of the trace."""
        self.trace.append(f"{self.scheduler.now_ms - 1_000_000:>7} {line}")

    def _forgets(self) -> bool:
        return not self.scheduler.healed and self.rng.random() < self.plan.weather.forget_rate

    def _before_payment(self, name: str) -> None:
        self.pass_turn()
        dead = self.plan.weather.payments_dead_ms
        if not self.scheduler.healed:
            since_ms = self.scheduler.now_ms - 1_000_000
            if dead is not None and dead[0] <= since_ms < dead[1]:
                raise Unavailable
            if self.rng.random() < self.plan.weather.payment_rate / 2:
                raise Unavailable
        self.note(f"  payment: {name}")

    def _after_payment(self, name: str) -> None:
        self.pass_turn()
        if not self.scheduler.healed and self.rng.random() < self.plan.weather.payment_rate / 2:
            self.note(f"  payment: the answer to {name} is lost")
            raise AnswerLost


def _any_price(price: Money, *, most: int = 1) -> None:
    """Charge whatever the sale asks."""


@dataclass(slots=True)
class Luck:
    """Chance, until the night is over."""

    chance: Chance
    scheduler: Scheduler

    def fault(self, method: str, call: int) -> Fault | None:
        """Return no fault once healed, nor for the reads under which the door holds a lock."""
        if self.scheduler.healed or method in UNDIVIDED:
            return None
        return self.chance.fault(method, call)
