"""The story of one order's money.

A hold comes with its first payment try written on it, or with a hand-off to the buyer. From then on a worker does,
one step at a time, what is due: it has the try carried out, or asks how the intent stands, and the intent alone
decides. Paid: tickets. Declined: the seats stay until the hold's end, for another card. At the hold's end, or at the
buyer's wish, the intent is closed first; only a closed one gives the seats back, and one that was paid after all
gives tickets. Money for an order that holds no seats is paid back, once.

Each step reads the order, speaks to the payment service, and writes the order once, on condition that nobody else
wrote in between. A worker that dies anywhere leaves an order whose duties are still due; the next one repeats calls
that the payment service knows already.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from consumers.settlement import aftermath, trouble
from consumers.settlement.intents import check_intent, find_intent, noted, refuse_if_refunded
from consumers.settlement.outcome import Outcome, Step
from consumers.settlement.tickets import ticket_codes
from consumers.settlement.waits import check_later, due_duties, without
from consumers.tools import Tools
from shared.domain import transitions
from shared.domain.errors import Broken, Unavailable
from shared.domain.order import SEATED, Duty, Order, Payment, PaymentState, Reason, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale, SaleStatus
from shared.observability import about
from shared.ports.payment import Intent, IntentStatus

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settlement:
    """Settles orders one at a time; keeps nothing between them."""

    tools: Tools

    def settle_once(self, sale: Sale, key: OrderKey) -> Outcome:
        """Do what is due for one order now, with one write at most.

        Unavailable when the store does not answer: nothing is lost, and the order stays due. Trouble with the payment
        service or with the order itself ends as a write on the order, never as an exception.
        """
        try:
            order = self.tools.store.get_order(key)
        except Broken:
            _log.exception("an order cannot be read", extra={"event_id": key.event_id, "order_id": key.order_id})
            return self._count(key, Outcome.UNREADABLE)
        if order is None or order.parked is not None:
            return Outcome.NOTHING
        due = due_duties(order, self.tools.clock.now_ms())
        if not due:
            return Outcome.NOTHING
        if due == {Duty.FULFIL}:
            return Outcome.NOT_OURS
        outcome = self._write(sale, order, self._step(sale, order, due))
        _log.info("order settled", extra=about(key, order.correlation_id, str(outcome)))
        return self._count(key, outcome)

    # --- the story ------------------------------------------------------------------------------------------------

    def _step(self, sale: Sale, order: Order, due: frozenset[Duty]) -> Step:
        try:
            if order.status is Status.QUEUED:
                return self._rejoin(order)
            if order.status is not Status.HELD:
                return aftermath.settle(self.tools, order, due)
            return self._settle_hold(sale, order, due)
        except Unavailable:
            return trouble.put_off(self.tools, order)
        except Broken as error:
            return trouble.park(self.tools, order, error)
        except Exception as error:  # noqa: BLE001 - one order's failure, whatever it is, stops no other order
            _log.exception("an order failed", extra=about(order.key, order.correlation_id, "settle"))
            return trouble.fail(self.tools, order, error)

    def _settle_hold(self, sale: Sale, order: Order, due: frozenset[Duty]) -> Step:
        leaving = bool(due & {Duty.CLOSE, Duty.HOLD_END}) or sale.status is SaleStatus.CANCELLED
        if leaving and not order.must_ask_before_release:
            return self._release(sale, order, order.payment)
        if order.amount.minor == 0:
            return self._confirm(sale, order, order.payment)
        intent = find_intent(self.tools.gateway, order)
        if intent.status is IntentStatus.OPEN:
            if leaving:
                intent = check_intent(order, self.tools.gateway.close_intent(intent))
            elif Duty.PAY in order.duties and order.payment.method is not None:
                intent = check_intent(order, self._pay(order, intent, order.payment.method))
        return self._follow(sale, order, intent, leaving=leaving)

    def _pay(self, order: Order, intent: Intent, method: str) -> Intent:
        return self.tools.gateway.pay(intent, key=order.key, attempt=order.payment.attempt, method=method)

    def _follow(self, sale: Sale, order: Order, intent: Intent, *, leaving: bool) -> Step:
        """Draw the consequence from how the intent stands."""
        match intent.status:
            case IntentStatus.SUCCEEDED:
                refuse_if_refunded(intent)
                return self._confirm(sale, order, noted(order, intent, PaymentState.PAID))
            case IntentStatus.CLOSED:
                return self._release(sale, order, noted(order, intent, PaymentState.CLOSED))
            case IntentStatus.PROCESSING:
                return self._wait(order, noted(order, intent, PaymentState.PROCESSING), leaving=leaving)
            case IntentStatus.OPEN if leaving:
                return self._wait(order, noted(order, intent, PaymentState.OPEN), leaving=True)
            case IntentStatus.OPEN if intent.decline_code is not None:
                return self._declined(order, noted(order, intent, PaymentState.DECLINED))
            case IntentStatus.OPEN:
                return self._wait(order, noted(order, intent, PaymentState.OPEN), leaving=False)

    # --- the steps ------------------------------------------------------------------------------------------------

    def _rejoin(self, order: Order) -> Step:
        rejoined = transitions.rejoin(order, op=self.tools.ids.op_id(), now_ms=self.tools.clock.now_ms())
        return Step(rejoined, Outcome.REJOINED)

    def _confirm(self, sale: Sale, order: Order, payment: Payment) -> Step:
        confirmed = transitions.confirm(
            order,
            payment,
            op=self.tools.ids.op_id(),
            now_ms=self.tools.clock.now_ms(),
            tickets=ticket_codes(self.tools.ids, order.quantity),
            fulfilment=sale.fulfilment,
        )
        return Step(confirmed, Outcome.CONFIRMED)

    def _release(self, sale: Sale, order: Order, payment: Payment) -> Step:
        if Duty.CLOSE in order.duties:
            status, reason = Status.CANCELLED, Reason.BUYER_CANCELLED
        elif sale.status is SaleStatus.CANCELLED:
            status, reason = Status.CANCELLED, Reason.SALE_CANCELLED
        else:
            status, reason = Status.EXPIRED, Reason.NOT_PAID_IN_TIME
        released = transitions.release(
            order,
            payment,
            op=self.tools.ids.op_id(),
            now_ms=self.tools.clock.now_ms(),
            status=status,
            reason=reason,
        )
        return Step(released, Outcome(str(status)))

    def _wait(self, order: Order, payment: Payment, *, leaving: bool) -> Step:
        """Ask again later; a hold that was to end stays until the intent can be closed."""
        now_ms = self.tools.clock.now_ms()
        if leaving and trouble.waited_too_long(order, now_ms):
            return trouble.park(self.tools, order, trouble.Unsettled())
        later_ms = check_later(order, self.tools.ids, now_ms)
        duties = without(order, Duty.PAY, Duty.CHECK) | {Duty.CHECK: later_ms}
        for duty in (Duty.HOLD_END, Duty.CLOSE):
            if duty in duties:
                duties[duty] = later_ms if duties[duty] <= now_ms else duties[duty]
        noted_order = transitions.note_payment(order, payment, duties, op=self.tools.ids.op_id(), now_ms=now_ms)
        return Step(noted_order, Outcome.AWAITED)

    def _declined(self, order: Order, payment: Payment) -> Step:
        """Keep the seats until the hold's end; a buyer who pays by hand-off may try again without telling us."""
        now_ms = self.tools.clock.now_ms()
        duties = without(order, Duty.PAY, Duty.CHECK)
        if order.payment.method is None:
            duties[Duty.CHECK] = check_later(order, self.tools.ids, now_ms)
        declined = transitions.note_payment(order, payment, duties, op=self.tools.ids.op_id(), now_ms=now_ms)
        return Step(declined, Outcome.DECLINED)

    # --- writing --------------------------------------------------------------------------------------------------

    def _write(self, sale: Sale, seen: Order, step: Step) -> Outcome:
        """Write the step on condition that the order is still as it was seen; seats go back in the same write."""
        store = self.tools.store
        if seen.status is Status.HELD and step.order.status not in SEATED:
            saved = store.release(step.order, seen_rev=seen.rev, withhold=False, max_per_buyer=sale.max_per_buyer)
        else:
            saved = store.save(step.order, seen_rev=seen.rev)
        return step.outcome if saved.done else Outcome.LOST_RACE

    def _count(self, key: OrderKey, outcome: Outcome) -> Outcome:
        self.tools.observe(key.event_id, str(outcome), 1)
        return outcome
