"""A payment service that does not answer is asked by one call at a time, ever more rarely, until it does.

Every thread that waits for a dead service is a thread that settles nothing. After a few calls without an answer all
others are refused at once for a while; then one is let through to see.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from consumers.pace import jittered
from shared.domain.errors import Contended, Throttled, Unavailable
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.ports.payment import Intent, IntentPage, PaymentGateway
from shared.ports.system import Clock, Ids

T = TypeVar("T")

# Calls without an answer, one after another, before the others are refused.
TRIPS_AFTER = 5
FIRST_REST_S = 0.5
LONGEST_REST_S = 15.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Breaker:
    """Knows whether calls make sense now; for all threads of a process."""

    clock: Clock
    ids: Ids
    _failures: int = 0
    _rests_until_s: float | None = None
    _rest_s: float = FIRST_REST_S
    _probing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_open(self) -> bool:
        """Say whether calls are being refused."""
        return self._rests_until_s is not None

    def call(self, run: Callable[[], T]) -> T:
        """Carry out `run` and learn from it; Unavailable at once while the service rests."""
        probes = self._enter()
        try:
            answer = run()
        except (Throttled, Contended):
            # It asks for less, or is busy with the same request: it is there.
            self._answered()
            raise
        except Unavailable:
            self._silent(probes=probes)
            raise
        except BaseException:
            self._answered()
            raise
        finally:
            if probes:
                self._probing = False
        self._answered()
        return answer

    def _enter(self) -> bool:
        with self._lock:
            if self._rests_until_s is None:
                return False
            left_s = self._rests_until_s - self.clock.monotonic_s()
            if left_s > 0 or self._probing:
                raise Unavailable("The payment service does not answer; it is asked again shortly.")
            self._probing = True
            return True

    def _answered(self) -> None:
        with self._lock:
            if self._rests_until_s is not None:
                _log.warning("the payment service answers again", extra={"action": "pay"})
            self._failures = 0
            self._rests_until_s = None
            self._rest_s = FIRST_REST_S

    def _silent(self, *, probes: bool) -> None:
        with self._lock:
            self._failures += 1
            rests = self._rests_until_s is not None
            # Calls that were under way when the rest began say nothing new.
            if self._failures < TRIPS_AFTER or (rests and not probes):
                return
            if not rests:
                _log.warning("the payment service does not answer", extra={"action": "pay"})
            self._rests_until_s = self.clock.monotonic_s() + jittered(self.ids, self._rest_s)
            self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)


@dataclass(frozen=True, slots=True)
class GuardedGateway:
    """A `PaymentGateway` behind a breaker."""

    inner: PaymentGateway
    breaker: Breaker

    def open_intent(self, key: OrderKey, amount: Money, *, since_ms: int | None = None) -> Intent:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.open_intent(key, amount, since_ms=since_ms))

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.pay(intent, key=key, attempt=attempt, method=method))

    def fetch(self, intent_id: str) -> Intent:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.fetch(intent_id))

    def close_intent(self, intent: Intent) -> Intent:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.close_intent(intent))

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.refund(intent, key=key, total_minor=total_minor))

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage:
        """As the port says."""
        return self.breaker.call(lambda: self.inner.list_intents(cursor=cursor, limit=limit))
