"""Lambda entry for a schedule: verifies every sale that is not long over, and says aloud which promise is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from infra.verify.run import report_of, verify
from shared.domain.errors import Broken
from shared.observability import make_logger
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.ports.system import Clock
from shared.settings import read_settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_store

# A sale that closed so long ago has been verified often enough.
WATCHED_MS = 7 * 86_400_000
# One sale is not begun with less time than this.
LEAST_S = 60.0


class PromiseBroken(Broken):
    """A promise does not hold; run `onsale verify` on the sales that the log names."""

    code = "promise-broken"


@dataclass(frozen=True, slots=True)
class Parts:
    """What verification works with."""

    store: Store
    books: PaymentGateway
    clock: Clock
    logger: Logger


def handler(event: object, context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - as Lambda calls it
    """Verify; `{"checked": [event ids], "left": [event ids]}`, or PromiseBroken, so that the run counts as failed."""
    return verify_all(_parts(), lambda: context.get_remaining_time_in_millis() / 1000)


def verify_all(parts: Parts, left_s: Callable[[], float]) -> dict[str, Any]:
    """Verify sale after sale while `left_s()` seconds suffice; PromiseBroken after all of them."""
    checked: list[str] = []
    left: list[str] = []
    broken: list[str] = []
    for event_id in _watched(parts):
        if left_s() < LEAST_S:
            left.append(event_id)
            continue
        verification = verify(parts.store, parts.books, event_id, clock=parts.clock)
        parts.store.note_check(report_of(verification, parts.clock.now_ms()))
        checked.append(event_id)
        for verdict in verification.broken:
            broken.append(f"{event_id} {verdict.invariant}")
            parts.logger.error(
                "A promise does not hold.",
                action="verify",
                event_id=event_id,
                invariant=verdict.invariant,
                because=verdict.because,
            )
    if left:
        parts.logger.warning("Not every sale was verified in time.", action="verify", left=left)
    if broken:
        raise PromiseBroken(f"Broken: {', '.join(broken)}. Run `onsale verify` on them.")
    return {"checked": checked, "left": left}


def _watched(parts: Parts) -> Iterator[str]:
    now_ms = parts.clock.now_ms()
    for view in parts.store.list_sales():
        if now_ms - view.sale.closes_at_ms < WATCHED_MS:
            yield view.sale.event_id


@cache
def _parts() -> Parts:
    settings = read_settings()
    clock = SystemClock()
    return Parts(
        open_store(settings, clock, SystemIds()),
        open_gateway(settings, clock),
        clock,
        make_logger("verify", settings),
    )
