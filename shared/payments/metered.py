"""A payment gateway whose calls are counted and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from shared.domain.errors import OnsaleError
from shared.metrics import PAYMENT_CALL_S, PAYMENT_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.domain.money import Money
    from shared.domain.order_id import OrderKey
    from shared.metering.meter import Meter
    from shared.ports.payment import Intent, IntentPage, PaymentGateway
    from shared.ports.system import Clock

T = TypeVar("T")


class MeteredGateway:
    """Implements `PaymentGateway` over `inner`; a call's outcome is `ok`, an error's code, or `unexpected`."""

    def __init__(self, inner: PaymentGateway, clock: Clock, meter: Meter) -> None:
        """Count the calls of `inner` on `meter`."""
        self._inner = inner
        self._clock = clock
        self._meter = meter

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:
        return self._through("open_intent", lambda: self._inner.open_intent(key, amount, since_ms=since_ms))

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        return self._through("pay", lambda: self._inner.pay(intent, key=key, attempt=attempt, method=method))

    def fetch(self, intent_id: str) -> Intent:
        return self._through("fetch", lambda: self._inner.fetch(intent_id))

    def close_intent(self, intent: Intent) -> Intent:
        return self._through("close_intent", lambda: self._inner.close_intent(intent))

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        return self._through("refund", lambda: self._inner.refund(intent, key=key, total_minor=total_minor))

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        return self._through("list_intents", lambda: self._inner.list_intents(cursor=cursor, limit=limit))

    def _through(self, call: str, run: Callable[[], T]) -> T:
        began_s = self._clock.monotonic_s()
        outcome = "unexpected"
        try:
            answer = run()
            outcome = "ok"
        except OnsaleError as error:
            outcome = error.code
            raise
        finally:
            self._meter.count(PAYMENT_CALLS, call, outcome)
            self._meter.time(PAYMENT_CALL_S, max(0.0, self._clock.monotonic_s() - began_s), call)
        return answer
