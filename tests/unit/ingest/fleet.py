"""Ingest processes as far as they admit orders: each with its own clock, over one control store."""

from __future__ import annotations

from ingest.admission import Admission
from ingest.errors import OverBudget
from ingest.sale_cache import SaleCache
from shared.domain.errors import NotFound, Unavailable
from shared.ports.store import Store
from shared.ports.system import Clock
from tests.builders import make_sale
from tests.fakes.system import FakeClock, SeededIds


class OwnClock:
    """A process's clock: it started at another moment than the others' and runs a little apart from them."""

    def __init__(self, true: FakeClock, *, offset_s: float, rate: float) -> None:
        """Count from `offset_s` when the true time is what it is now, `rate` seconds for each true one."""
        self._true = true
        self._from_s = true.monotonic_s()
        self._offset_s = offset_s
        self._rate = rate

    def now_ms(self) -> int:
        """Return a wall time that is wrong by hours, which must not matter."""
        return round((self.monotonic_s() + 7_200) * 1000)

    def monotonic_s(self) -> float:
        """Return this process's own seconds."""
        return self._offset_s + (self._true.monotonic_s() - self._from_s) * self._rate


class Process:
    """One process: asks the door's cache for the sale, then the admission for leave."""

    def __init__(self, store: Store, clock: Clock, *, processes: int, seed: int = 0) -> None:
        """Be one of `processes`."""
        self._sales = SaleCache(store, clock)
        self.admission = Admission(clock, SeededIds(seed), store, self._sales.may_call, processes=processes)

    def takes(self, accept_per_s: int, *, event_id: str = "gig") -> bool:
        """Say whether one order is admitted now; a cold process without the control store admits none."""
        try:
            self._sales.get(event_id)
            self.admission.admit(make_sale(event_id=event_id, accept_per_s=accept_per_s))
        except (OverBudget, Unavailable):
            return False
        except NotFound:
            # The sale of another test: it is the budget that counts here.
            self.admission.admit(make_sale(event_id=event_id, accept_per_s=accept_per_s))
        return True
