"""A payment service in memory that keeps its promises as Stripe does, and breaks down when told.

One intent per order; a try is repeatable under its attempt; an intent is captured once at most; refunds never exceed
the total that was asked for. Faults happen before a call (`Unavailable`, nothing done) or after it (`AnswerLost`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from shared.domain.errors import AnswerLost, NotFound, Unavailable
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.ports.payment import Intent, IntentPage, IntentStatus
from shared.ports.system import Clock

CARD = "pm_card_visa"
DECLINED_CARD = "pm_card_declined"
SLOW_CARD = "pm_card_processing"


@dataclass(frozen=True, slots=True)
class Call:
    """One call that reached the service."""

    name: str
    key: OrderKey | None


@dataclass(slots=True)
class FakePayments:
    """`before` and `after` run around every call, with its name, and may raise, sleep or count.

    `tell` hears of everything that happens to an intent, as webhooks do. `forgets` says whether a repeated try is not
    recognised, as after the time for which a payment service remembers keys.

    `dead` refuses every call. `captures` and `refunds` count what was carried out for each intent.
    """

    clock: Clock
    dead: bool = False
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    tell: Callable[[str, Intent], None] = lambda _kind, _intent: None
    forgets: Callable[[], bool] = lambda: False
    calls: list[Call] = field(default_factory=list)
    intents: dict[str, Intent] = field(default_factory=dict)
    captures: dict[str, int] = field(default_factory=dict)
    refunds: dict[str, int] = field(default_factory=dict)
    _tries: dict[tuple[str, int], str | None] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # --- the port -------------------------------------------------------------------------------------------------

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:
        with self._call("open_intent", key):
            intent_id = f"pi_{key.order_id}"
            if intent_id not in self.intents:
                self.intents[intent_id] = Intent(
                    intent_id=intent_id,
                    status=IntentStatus.OPEN,
                    amount=amount,
                    captured_minor=0,
                    refunded_minor=0,
                    client_secret=f"secret_{key.order_id}",
                    decline_code=None,
                    order_key=key,
                    created_at_ms=self.clock.now_ms(),
                )
                self.tell("payment_intent.created", self.intents[intent_id])
            intent = self.intents[intent_id]
        return self._answer("open_intent", intent)

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        with self._call("pay", key):
            stored = self.intents[intent.intent_id]
            tried = (intent.intent_id, attempt)
            new = tried not in self._tries or self.forgets()
            if new and stored.status is IntentStatus.OPEN:
                self._tries[tried] = method
                stored = self._try(stored, method)
        return self._answer("pay", stored)

    def fetch(self, intent_id: str) -> Intent:
        with self._call("fetch", None):
            if intent_id not in self.intents:
                raise NotFound
            intent = self.intents[intent_id]
        return self._answer("fetch", intent)

    def close_intent(self, intent: Intent) -> Intent:
        with self._call("close_intent", intent.order_key):
            stored = self.intents[intent.intent_id]
            if stored.status is IntentStatus.OPEN:
                stored = self._store(replace(stored, status=IntentStatus.CLOSED, client_secret=None))
                self.tell("payment_intent.canceled", stored)
        return self._answer("close_intent", stored)

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        with self._call("refund", key):
            stored = self.intents[intent.intent_id]
            total_minor = min(total_minor, stored.captured_minor)
            if stored.refunded_minor < total_minor:
                self.refunds[intent.intent_id] = self.refunds.get(intent.intent_id, 0) + 1
                stored = self._store(replace(stored, refunded_minor=total_minor))
                self.tell("charge.refunded", stored)
        return self._answer("refund", stored)

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        with self._call("list_intents", None):
            names = sorted(self.intents, reverse=True)
            start = 0 if cursor is None else int(cursor)
            page = tuple(self.intents[name] for name in names[start : start + limit])
            more = str(start + limit) if start + limit < len(names) else None
        return IntentPage(page, more)

    def charge_nobody(self, key: OrderKey, amount: Money) -> Intent:
        """Take money for an order that is not there."""
        with self._lock:
            intent = Intent(
                intent_id=f"pi_{key.order_id}",
                status=IntentStatus.SUCCEEDED,
                amount=amount,
                captured_minor=amount.minor,
                refunded_minor=0,
                client_secret=None,
                decline_code=None,
                order_key=key,
                created_at_ms=self.clock.now_ms(),
            )
            self.captures[intent.intent_id] = 1
            self._store(intent)
        self.tell("payment_intent.succeeded", intent)
        return intent

    # --- what buyers and banks do ---------------------------------------------------------------------------------

    def pay_by_hand(self, order_id: str, method: str = CARD) -> None:
        """Let the buyer pay a handed-off intent, if it is still open."""
        with self._lock:
            stored = self.intents[f"pi_{order_id}"]
            if stored.status is IntentStatus.OPEN:
                self._try(stored, method)

    def finish(self, order_id: str, *, paid: bool) -> None:
        """Let a payment that was under way succeed or fail."""
        with self._lock:
            stored = self.intents[f"pi_{order_id}"]
            assert stored.status is IntentStatus.PROCESSING
            self._try(replace(stored, status=IntentStatus.OPEN), CARD if paid else DECLINED_CARD)

    def change(self, order_id: str, **changes: object) -> None:
        """Alter an intent behind everybody's back."""
        with self._lock:
            self._store(replace(self.intents[f"pi_{order_id}"], **changes))  # type: ignore[arg-type] # as `replace`

    def intent(self, order_id: str) -> Intent | None:
        """Return an order's intent as the service's own books have it."""
        return self.intents.get(f"pi_{order_id}")

    def tries(self, order_id: str) -> int:
        """Return how many tries were carried out on an order's intent, repeats not counted."""
        return sum(intent_id == f"pi_{order_id}" for intent_id, _ in self._tries)

    def count(self, name: str) -> int:
        """Return how many calls of one name arrived."""
        return sum(call.name == name for call in self.calls)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _try(self, intent: Intent, method: str) -> Intent:
        tried = self._tried(intent, method)
        kind = "payment_failed" if tried.status is IntentStatus.OPEN else str(tried.status)
        self.tell(f"payment_intent.{kind}", tried)
        return tried

    def _tried(self, intent: Intent, method: str) -> Intent:
        if method == DECLINED_CARD:
            return self._store(replace(intent, decline_code="card_declined"))
        if method == SLOW_CARD:
            return self._store(replace(intent, status=IntentStatus.PROCESSING, decline_code=None))
        self.captures[intent.intent_id] = self.captures.get(intent.intent_id, 0) + 1
        return self._store(
            replace(
                intent,
                status=IntentStatus.SUCCEEDED,
                captured_minor=intent.amount.minor,
                decline_code=None,
                client_secret=None,
            )
        )

    def _store(self, intent: Intent) -> Intent:
        self.intents[intent.intent_id] = intent
        return intent

    def _call(self, name: str, key: OrderKey | None) -> threading.RLock:
        self.before(name)
        if self.dead:
            raise Unavailable
        self.calls.append(Call(name, key))
        return self._lock

    def _answer(self, name: str, intent: Intent) -> Intent:
        self.after(name)
        return intent


def lose_answers(*names: str) -> Callable[[str], None]:
    """Return an `after` that loses the first answer of each of these calls."""
    left = set(names)

    def after(name: str) -> None:
        if name in left:
            left.discard(name)
            raise AnswerLost

    return after
