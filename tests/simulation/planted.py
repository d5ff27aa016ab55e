"""Faults put in on purpose: a simulation that does not find them proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from shared.domain.order import Order
from shared.domain.order_id import OrderKey
from shared.ports.orders import Accepted, Saved
from shared.ports.payment import Intent, IntentStatus
from shared.stores.wrapped import WrappedStore
from tests.fakes.payment import FakePayments
from tests.simulation.night import Night
from tests.simulation.plan import NightPlan

T = TypeVar("T")


class _Passing(WrappedStore):
    """Hands everything on unchanged."""

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:
        return run()


class SaveWithoutCondition(_Passing):
    """Writes over whatever another writer stored."""

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        saved = self._inner.save(order, seen_rev=seen_rev)
        if saved.done or saved.order is None:
            return saved
        return self._inner.save(replace(order, rev=saved.order.rev + 1), seen_rev=saved.order.rev)


class ReleaseWithoutStateCheck(_Passing):
    """Gives seats back whatever the order's state has become."""

    def release(self, order: Order, *, seen_rev: int, withhold: bool, max_per_buyer: int | None) -> Saved:
        saved = self._inner.release(order, seen_rev=seen_rev, withhold=withhold, max_per_buyer=max_per_buyer)
        if saved.done or saved.order is None:
            return saved
        return self._inner.release(
            replace(order, rev=saved.order.rev + 1),
            seen_rev=saved.order.rev,
            withhold=withhold,
            max_per_buyer=max_per_buyer,
        )


class AcceptWithoutLooking(_Passing):
    """Answers every order as new and keeps the second one from being seen: a repeat becomes another order."""

    def accept(self, order: Order) -> Accepted:
        twin = replace(order, key=replace(order.key, order_id=f"1-{order.op:0>32}"))
        return self._inner.accept(twin)


class PaysBackTwice(FakePayments):
    """Carries every refund out twice, as a service does that forgets its keys and is asked again."""

    def refund(self, intent: Intent, *, key: OrderKey, total_minor: int) -> Intent:
        """Pay back double."""
        return super().refund(intent, key=key, total_minor=2 * total_minor)


class ChargesEachTime(FakePayments):
    """Forgets that a payment succeeded: a try that is repeated takes the money again."""

    def pay(self, intent: Intent, *, key: OrderKey, attempt: int, method: str) -> Intent:
        """Charge, whatever there was before."""
        stored = self.intents[intent.intent_id]
        if stored.status is IntentStatus.SUCCEEDED:
            self.captures[intent.intent_id] += 1
        return super().pay(intent, key=key, attempt=attempt, method=method)


def planted_payments(kind: type[FakePayments]) -> Callable[[NightPlan], Night]:
    """Return a maker of nights whose payment service has the fault."""
    return lambda plan: Night(plan, wrap_gateway=lambda sound: kind(sound.clock))


def planted(wrapper: type[_Passing]) -> Callable[[NightPlan], Night]:
    """Return a maker of nights whose store has the fault."""
    return lambda plan: Night(plan, wrap=wrapper)
