"""Walks the payment service's books, then our orders, page by page; mends what a worker can, lists the rest.

From there to here: every payment of ours has an order that agrees with it. From here to there: every order that speaks
of a payment finds it in the books. Nothing is decided here: an order that disagrees is marked to be looked at, and the
worker that looks believes the payment service alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from consumers.reconcile.compare import compare, found, stuck
from consumers.reconcile.report import Course, Finding, Report
from shared.domain.errors import Moved, NotFound
from shared.domain.order import Order, Status
from shared.domain.order_id import OrderKey
from shared.domain.orphan import make_orphan
from shared.domain.sale import Sale
from shared.domain.transitions import look_now
from shared.ports.payment import Intent, IntentStatus, PaymentGateway
from shared.ports.store import Store
from shared.ports.system import Clock, Ids

PAGE_INTENTS = 100
PAGE_ORDERS = 200
# Younger payments may belong to an order that another process has not shown yet.
ORPHAN_AFTER_MS = 120_000
# Clocks of the payment service and of ours disagree by less.
CLOCKS_APART_MS = 3_600_000


@dataclass(slots=True)
class Reconciler:
    """One walk. Everything may raise `Unavailable`; a walk that is begun again finds what is left."""

    store: Store
    gateway: PaymentGateway
    clock: Clock
    ids: Ids
    report: Report = field(default_factory=Report)
    _seen: set[bytes] = field(default_factory=set)
    _sales: dict[str, Sale] = field(default_factory=dict)

    def walk(
        self, *, since_ms: int = 0, cursor: str | None = None, goes_on: Callable[[], bool] = lambda: True
    ) -> Report:
        """Walk both ways over what is younger than `since_ms`; `goes_on` is asked before every page.

        With `cursor`, where an earlier walk over the books was cut off, only the books are walked on: the orders that
        the earlier part has seen are not known here.
        """
        self._sales = {view.sale.event_id: view.sale for view in self.store.list_sales()}
        self.report.cursor = cursor
        if not self._books(since_ms - CLOCKS_APART_MS, goes_on):
            return self.report
        self.report.complete = cursor is not None or all(
            self._orders(sale, since_ms, goes_on) for sale in self._sales.values()
        )
        return self.report

    # --- from the books to the orders -----------------------------------------------------------------------------

    def _books(self, since_ms: int, goes_on: Callable[[], bool]) -> bool:
        """Walk the books, newest first; False when time ran out."""
        while goes_on():
            page = self.gateway.list_intents(cursor=self.report.cursor, limit=PAGE_INTENTS)
            for intent in page.intents:
                self._intent(intent)
            self.report.cursor = page.cursor
            if page.cursor is None or (page.intents and page.intents[-1].created_at_ms < since_ms):
                self.report.cursor = None
                return True
        return False

    def _intent(self, intent: Intent) -> None:
        self.report.intents += 1
        if intent.order_key is None:
            self.report.foreign += 1
            return
        self._seen.add(_mark(intent.intent_id))
        try:
            order = self.store.get_order(intent.order_key)
        except Moved as moved:
            self._moved(intent, intent.order_key, moved)
            return
        if order is None:
            self._without_order(intent, intent.order_key)
        else:
            self._settle(order, compare(order, intent, self.clock.now_ms()), intent)

    def _moved(self, intent: Intent, key: OrderKey, moved: Moved) -> None:
        """List a payment for an address that was closed before anybody could hold seats there."""
        if intent.captured_minor > intent.refunded_minor or intent.status in {
            IntentStatus.OPEN,
            IntentStatus.PROCESSING,
        }:
            sentence = (
                f"A payment of {intent.amount} is for an order that never held seats; {moved.order_id} took its place."
            )
            self.report.add(Finding(Course.PERSON, "moved", sentence, key.event_id, key.order_id, intent.intent_id))

    def _without_order(self, intent: Intent, key: OrderKey) -> None:
        nothing_left = intent.status is IntentStatus.CLOSED or (
            intent.status is IntentStatus.SUCCEEDED and intent.captured_minor == intent.refunded_minor
        )
        if nothing_left or self.clock.now_ms() - intent.created_at_ms < ORPHAN_AFTER_MS:
            return
        sale = self._sales.get(key.event_id)
        if sale is None:
            sentence = f"A payment of {intent.amount} is {intent.status} for an event that is not stored; restore it."
            self.report.add(
                Finding(Course.PERSON, "unknown-event", sentence, key.event_id, key.order_id, intent.intent_id)
            )
            return
        orphan = make_orphan(
            key,
            intent_id=intent.intent_id,
            currency=sale.currency,
            op=self.ids.op_id(),
            now_ms=self.clock.now_ms(),
        )
        if self.store.accept(orphan).created:
            sentence = f"A payment of {intent.amount} has no order; it goes back."
            self.report.add(found(Course.LOOK, "orphan", sentence, orphan, intent))

    # --- from the orders to the books -----------------------------------------------------------------------------

    def _orders(self, sale: Sale, since_ms: int, goes_on: Callable[[], bool]) -> bool:
        """Walk a sale's orders; False when time ran out."""
        for shard in range(max(sale.shard_counts)):
            cursor: str | None = None
            while True:
                if not goes_on():
                    return False
                page = self.store.list_orders(sale.event_id, shard, limit=PAGE_ORDERS, cursor=cursor)
                for order in page.orders:
                    if order.accepted_at_ms >= since_ms:
                        self._order(order)
                cursor = page.cursor
                if cursor is None:
                    break
        return True

    def _order(self, order: Order) -> None:
        self.report.orders += 1
        intent_id = order.payment.intent_id
        if intent_id is None:
            self._settle(order, self._without_intent(order), None)
        elif _mark(intent_id) not in self._seen:
            self._missing(order, intent_id)

    def _without_intent(self, order: Order) -> Finding | None:
        if order.parked is not None:
            return found(Course.PERSON, "parked", f"The order is parked: {order.parked.error}", order, None)
        if order.status is Status.CONFIRMED and order.amount.minor > 0:
            return found(Course.PERSON, "unpaid-confirmed", "The order is confirmed and has no payment.", order, None)
        return stuck(order, self.clock.now_ms())

    def _missing(self, order: Order, intent_id: str) -> None:
        """Ask for a payment that was not among those listed; it may be older than the walk, or newer."""
        try:
            intent = self.gateway.fetch(intent_id)
        except NotFound:
            matters = order.payment.captured_minor > 0 or order.status in {Status.HELD, Status.CONFIRMED}
            if matters:
                sentence = f"The order is {order.status}; the payment service does not know its payment."
                self._settle(order, found(Course.PERSON, "unknown-payment", sentence, order, None), None)
            return
        if intent.order_key != order.key:
            sentence = "The order's payment does not carry its tag; was the tag's secret changed?"
            self._settle(order, found(Course.PERSON, "other-tag", sentence, order, intent), None)
            return
        self._settle(order, compare(order, intent, self.clock.now_ms()), intent)

    # --- what is done about it ------------------------------------------------------------------------------------

    def _settle(self, order: Order, finding: Finding | None, intent: Intent | None) -> None:
        """Send a worker to look, or list what a person has to see, if it still is so when both are read again."""
        if finding is None:
            return
        if finding.course is Course.PERSON and intent is not None:
            now, again = self.store.get_order(order.key), self.gateway.fetch(intent.intent_id)
            finding = None if now is None else compare(now, again, self.clock.now_ms())
            if finding is None or now is None:
                return
            order = now
        if finding.course is Course.LOOK or finding.code == "refunded-outside":
            noted = look_now(order, op=self.ids.op_id(), now_ms=self.clock.now_ms())
            if not self.store.save(noted, seen_rev=order.rev).done and finding.course is Course.LOOK:
                # Somebody else wrote it meanwhile, and knows more.
                finding = replace(finding, course=Course.UNDER_WAY)
        self.report.add(finding)


def _mark(intent_id: str) -> bytes:
    """Return a few bytes for an id, so that a million fit into memory."""
    return blake2b(intent_id.encode(), digest_size=8).digest()


def sentences(report: Report) -> Iterator[str]:
    """Tell the findings, one line each."""
    for one in report.findings:
        yield f"{one.event_id}/{one.order_id}: {one.sentence}"
