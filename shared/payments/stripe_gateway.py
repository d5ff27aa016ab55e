"""Stripe's PaymentIntents behind our port, through the official library.

The library's own repeats are off: every attempt is the caller's, counted there. Answers that Stripe replays for a
repeated request are as old as the first one, so the intent is read again before it is believed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import stripe
from msgspec.structs import replace

from shared.domain.errors import Broken, Contended, NotFound, Unavailable
from shared.domain.money import Money
from shared.payments.answers import is_replayed, reading, replayed_failure, to_intent, writing
from shared.payments.charges import charge_amount, refund_amount
from shared.payments.tags import EVENT, ORDER, Tags
from shared.ports.payment import Intent, IntentPage, IntentStatus

if TYPE_CHECKING:
    from stripe.params import PaymentIntentListParams

    from shared.domain.order_id import OrderKey
    from shared.ports.system import Clock

# Stripe keeps idempotency keys for at least 24 hours; skewed clocks and slow calls get the rest.
KEYS_KEPT_MS = 20 * 3600 * 1000
CONNECT_TIMEOUT_S = 3.0
PAGE_MAX = 100
# Refunds by others may come between a look and a refund; each round sees them.
REFUND_ROUNDS = 3
HTTP_NOT_FOUND = 404
UNEXPECTED_STATE = "payment_intent_unexpected_state"
# Stands where a decline code would, for a payment method that the service does not know.
INVALID_METHOD = "invalid_payment_method"

# At DEBUG the library writes whole bodies, client secrets included.
logging.getLogger("stripe").setLevel(logging.WARNING)


class StripeGateway:
    """A `PaymentGateway` over Stripe, or over what speaks like it at `base_url`."""

    def __init__(
        self, api_key: str, *, tags: Tags, environment: str, clock: Clock, timeout_s: float, base_url: str | None = None
    ) -> None:
        self._tags = tags
        self._environment = environment
        self._clock = clock
        self._api = stripe.StripeClient(
            api_key,
            base_addresses={"api": base_url} if base_url else None,
            max_network_retries=0,
            http_client=stripe.RequestsClient(timeout=(min(CONNECT_TIMEOUT_S, timeout_s), timeout_s)),
        ).v1

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:
        units = charge_amount(amount)
        if since_ms is not None and self._clock.now_ms() - since_ms > KEYS_KEPT_MS:
            earlier = self._search(key)
            if earlier is not None:
                return earlier
        with writing():
            try:
                told = self._create(key, units, amount.currency)
            except stripe.IdempotencyError:
                return self._found(key)
            except stripe.APIError as error:
                if replayed_failure(error):
                    return self._found(key)
                raise
        return self._believed(told)

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        _check_ours(intent, key)
        with writing():
            try:
                told = self._confirm(intent.intent_id, self._name(key, f"pay/{attempt}"), method)
                return self._believed(told)
            except stripe.CardError:
                return self.fetch(intent.intent_id)
            except stripe.InvalidRequestError as error:
                if error.code == UNEXPECTED_STATE:
                    return self.fetch(intent.intent_id)
                if error.param == "payment_method":
                    return self._with_invalid_method(intent.intent_id)
                raise
            except stripe.APIError as error:
                if replayed_failure(error):
                    return self._after_lost_try(intent.intent_id)
                raise

    def fetch(self, intent_id: str) -> Intent:
        with reading():
            try:
                told = self._api.payment_intents.retrieve(intent_id, {"expand": ["latest_charge"]})
            except stripe.InvalidRequestError as error:
                if error.http_status == HTTP_NOT_FOUND:
                    raise NotFound("The payment service has no payment intent of this id.") from None
                raise
        return to_intent(told, self._tags)

    def close_intent(self, intent: Intent) -> Intent:
        _check_ours(intent, intent.order_key)
        with writing():
            try:
                # Under a key of the library's own: a stored refusal must not outlive the state that caused it.
                self._api.payment_intents.cancel(intent.intent_id)
            except stripe.InvalidRequestError as error:
                if error.code != UNEXPECTED_STATE:
                    raise
        return self.fetch(intent.intent_id)

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        _check_ours(intent, key)
        for _ in range(REFUND_ROUNDS):
            current = self.fetch(intent.intent_id)
            due_minor = min(total_minor, current.captured_minor) - current.refunded_minor
            if due_minor <= 0:
                return current
            self._refund_from(current, key, Money(due_minor, current.amount.currency))
        raise Contended("Other refunds of the same order are under way; repeat this one shortly.")

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        wanted: PaymentIntentListParams = {"limit": min(limit, PAGE_MAX), "expand": ["data.latest_charge"]}
        if cursor is not None:
            wanted["starting_after"] = cursor
        with reading():
            page = self._api.payment_intents.list(wanted)
        told = tuple(to_intent(one, self._tags) for one in page.data)
        return IntentPage(told, told[-1].intent_id if page.has_more and told else None)

    def _create(self, key: OrderKey, units: int, currency: str) -> stripe.PaymentIntent:
        """Ask for the order's intent, by parameters that depend on the order alone."""
        return self._api.payment_intents.create(
            {
                "amount": units,
                "currency": currency.lower(),
                "metadata": self._tags.metadata(key),
                "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            },
            {"idempotency_key": self._name(key, "open")},
        )

    def _confirm(self, intent_id: str, name: str, method: str) -> stripe.PaymentIntent:
        return self._api.payment_intents.confirm(
            intent_id,
            {"payment_method": method, "off_session": True, "expand": ["latest_charge"]},
            {"idempotency_key": name},
        )

    def _give_back(self, intent_id: str, key: OrderKey, units: int, name: str) -> None:
        self._api.refunds.create(
            {"payment_intent": intent_id, "amount": units, "metadata": self._tags.metadata(key)},
            {"idempotency_key": name},
        )

    def _refund_from(self, current: Intent, key: OrderKey, due: Money) -> None:
        """Refund once from the present level: its key stops a second refund that saw the same level."""
        with writing():
            try:
                name = self._name(key, f"refund/{current.refunded_minor}")
                self._give_back(current.intent_id, key, refund_amount(due), name)
            except stripe.IdempotencyError:
                return
            except stripe.InvalidRequestError as error:
                if error.code != "charge_already_refunded" and error.param != "amount":
                    raise

    def _believed(self, told: stripe.PaymentIntent) -> Intent:
        if is_replayed(told.last_response.headers if told.last_response else None):
            return self.fetch(told.id)
        return to_intent(told, self._tags)

    def _after_lost_try(self, intent_id: str) -> Intent:
        """Look what became of a try whose stored answer is a failure of the service."""
        intent = self.fetch(intent_id)
        if intent.status is IntentStatus.OPEN and intent.decline_code is None:
            raise Unavailable("The payment service lost this try and will not repeat it; it stays unpaid.")
        return intent

    def _with_invalid_method(self, intent_id: str) -> Intent:
        intent = self.fetch(intent_id)
        if intent.status is IntentStatus.OPEN:
            return replace(intent, decline_code=INVALID_METHOD)
        return intent

    def _found(self, key: OrderKey) -> Intent:
        """Return the intent that exists though its creation cannot be repeated; a new one may be found late."""
        intent = self._search(key)
        if intent is None:
            raise Unavailable("The order's payment intent cannot be found yet; repeat the same request in a minute.")
        return intent

    def _search(self, key: OrderKey) -> Intent | None:
        query = f"metadata['{ORDER}']:'{key.order_id}' AND metadata['{EVENT}']:'{key.event_id}'"
        with reading():
            found = self._api.payment_intents.search(
                {"query": query, "limit": PAGE_MAX, "expand": ["data.latest_charge"]}
            )
        ours = [intent for told in found.data if (intent := to_intent(told, self._tags)).order_key == key]
        # Found newest first; of those that are alike, the oldest is the order's.
        return min(reversed(ours), key=_by_money, default=None)

    def _name(self, key: OrderKey, what: str) -> str:
        return f"onsale/{self._environment}/{key.event_id}/{key.order_id}/{what}"


def _check_ours(intent: Intent, key: OrderKey | None) -> None:
    if intent.order_key is None or intent.order_key != key:
        raise Broken("This payment intent does not belong to the order; leave it alone and run `onsale reconcile`.")


def _by_money(intent: Intent) -> int:
    """Order intents so that the one that took money comes first, then the ones that still may."""
    return (IntentStatus.SUCCEEDED, IntentStatus.PROCESSING, IntentStatus.OPEN, IntentStatus.CLOSED).index(
        intent.status
    )
