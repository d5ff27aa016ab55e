"""A payment service that answers at once and always yes: for measuring everything but payment."""

from __future__ import annotations

from msgspec.structs import replace

from shared.domain.errors import NotFound
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.ports.payment import Intent, IntentPage, IntentStatus


class InstantPayments:
    """Implements `PaymentGateway` within the process. Its books go with it, so an intent is named by its order."""

    def __init__(self) -> None:
        """Know no intent."""
        self._intents: dict[str, Intent] = {}

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:  # noqa: ARG002 - the port's
        """Create the order's intent, or fetch it."""
        intent_id = f"pi_{key.order_id}"
        return self._intents.setdefault(
            intent_id,
            Intent(
                intent_id=intent_id,
                status=IntentStatus.OPEN,
                amount=amount,
                captured_minor=0,
                refunded_minor=0,
                client_secret=f"{intent_id}_secret",
                decline_code=None,
                order_key=key,
                created_at_ms=0,
            ),
        )

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:  # noqa: ARG002 - the port's
        """Capture the amount."""
        return self._put(replace(intent, status=IntentStatus.SUCCEEDED, captured_minor=intent.amount.minor))

    def fetch(self, intent_id: str) -> Intent:
        """Read one intent."""
        if intent_id not in self._intents:
            raise NotFound("There is no such intent.")
        return self._intents[intent_id]

    def close_intent(self, intent: Intent) -> Intent:
        """Close what is not paid."""
        standing = self._intents[intent.intent_id]
        if standing.status is not IntentStatus.OPEN:
            return standing
        return self._put(replace(standing, status=IntentStatus.CLOSED))

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:  # noqa: ARG002 - the port's
        """Pay back."""
        return self._put(replace(self._intents[intent.intent_id], refunded_minor=total_minor))

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:  # noqa: ARG002 - the port's
        """List everything at once."""
        return IntentPage(tuple(self._intents.values()), None)

    def _put(self, intent: Intent) -> Intent:
        self._intents[intent.intent_id] = intent
        return intent
