"""Time passing: looks after the system, strikes its workers if asked to, and shows how the sale stands."""

from __future__ import annotations

import time
from collections.abc import Callable

from infra.demo.killer import Killer
from infra.demo.look import Look, look
from infra.demo.outage import Outage
from infra.demo.show import Show
from infra.load.stampede import Stampede
from infra.local.system import System
from shared.domain.sale import Sale
from shared.ports.store import Store

TICK_S = 0.1
LOOK_EVERY_S = 0.5
# So many looks in a row must agree, so that an order between two states is not overlooked.
STILL_LOOKS = 3


class Watch:
    """Watches one sale and its crowd until `deadline_s` (monotonic)."""

    def __init__(
        self,
        system: System,
        store: Store,
        sale: Sale,
        crowd: Stampede,
        show: Show,
        *,
        killer: Killer | None,
        outage: Outage | None,
    ) -> None:
        self._system = system
        self._store = store
        self._sale = sale
        self._crowd = crowd
        self._show = show
        self._killer = killer
        self._outage = outage
        self._look_at_s = 0.0
        self.looked: Look | None = None

    @property
    def kills(self) -> int:
        """Workers killed so far."""
        return 0 if self._killer is None else self._killer.kills

    def until(self, done: Callable[[], bool], deadline_s: float) -> bool:
        """Let time pass until something is so; False when the deadline came first."""
        while not done():
            if time.monotonic() > deadline_s:
                return False
            self._tick()
        return True

    def until_looks_agree(self, holds: Callable[[Look], bool], deadline_s: float) -> bool:
        """Let time pass until several looks in a row, each a new one, say that something holds."""
        agreed: list[Look] = []

        def done() -> bool:
            latest = self.looked
            if latest is None or not holds(latest):
                agreed.clear()
            elif not agreed or latest is not agreed[-1]:
                agreed.append(latest)
            return len(agreed) >= STILL_LOOKS

        self.looked = None
        return self.until(done, deadline_s)

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass."""
        self.until(lambda: False, time.monotonic() + seconds)

    def _tick(self) -> None:
        time.sleep(TICK_S)
        self._system.supervise()
        if self._killer is not None:
            self._killer.strike_if_due()
        if self._outage is not None:
            self._outage.act_if_due()
        now_s = time.monotonic()
        if now_s - self._look_at_s >= LOOK_EVERY_S:
            self.looked, self._look_at_s = look(self._store, self._sale), now_s
            self._show.draw(self._crowd.progress(), self.looked, self.kills)
