"""Real workers on real threads over one SQLite file, with a payment service in memory."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from consumers.tally import Tally
from consumers.tools import Tools
from consumers.worker import Worker
from shared.domain.sale import Sale
from shared.ports.store import Store
from shared.stores.sqlite import SqliteStore
from shared.system import SystemClock, SystemIds
from tests.builders import make_sale
from tests.fakes.payment import FakePayments
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import World

# Generous: the machine may be busy with other things.
PATIENCE_S = 100.0


class Town(World):
    """A world on the system's clock and a file, with workers on threads."""

    def __init__(self, folder: Path, sale: Sale) -> None:
        self.sale = sale
        self.seen = Counter()
        self.seed = 0
        self.clock = SystemClock()  # type: ignore[assignment] # real time here
        self.store: Store = SqliteStore(folder, SystemClock())
        self.payments = FakePayments(SystemClock())
        self.store.create_sale(sale)
        self.store.open_inventory(sale)
        self._number = 0
        self.tally = Tally()
        self.stops: dict[str, threading.Event] = {}
        self.threads: dict[str, threading.Thread] = {}

    def tools(self, cutter: Cutter | None = None) -> Tools:
        around = cutter or Cutter()
        return Tools(
            around.store(self.store), around.gateway(self.payments), SystemClock(), SystemIds(), self.tally.add
        )

    def start(self, name: str, *, payment_threads: int = 4, cutter: Cutter | None = None) -> None:
        stop = threading.Event()
        worker = Worker(self.tools(cutter), name, stop, payment_threads)
        thread = threading.Thread(target=worker.run, name=name)
        thread.start()
        self.stops[name], self.threads[name] = stop, thread

    def stop(self, name: str) -> None:
        self.stops[name].set()
        self.threads[name].join(PATIENCE_S)
        assert not self.threads[name].is_alive()


@pytest.fixture
def make_town(tmp_path: Path) -> Iterator[Callable[..., Town]]:
    """Return a maker of towns; its arguments are the sale's."""
    towns: list[Town] = []

    def make(**changes: object) -> Town:
        now_ms = SystemClock().now_ms()
        times = {"opens_at_ms": now_ms - 1_000, "closes_at_ms": now_ms + 3_600_000}
        towns.append(Town(tmp_path, make_sale(**times, **changes)))
        return towns[-1]

    yield make
    for town in towns:
        for stop in town.stops.values():
            stop.set()
        for thread in town.threads.values():
            thread.join(PATIENCE_S)
        town.store.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that other threads bring about."""
    ends_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends_s, "it did not come about"
        threading.Event().wait(0.02)
