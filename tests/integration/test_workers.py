"""Real workers on real threads over one SQLite file, with a payment service in memory."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers.tally import Tally
from consumers.tools import Tools
from consumers.worker import Worker, drain, run_worker
from shared.domain.errors import Unavailable
from shared.domain.order import FINAL, SEATED, Status
from shared.domain.sale import Pool, Sale
from shared.ports import Store
from shared.stores.sqlite import SqliteStore
from shared.system import SystemClock, SystemIds
from tests.builders import make_sale
from tests.fakes.payment import CARD, DECLINED_CARD, FakePayments
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import World, check_invariants

PATIENCE_S = 40.0


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


def test_several_workers_finish_a_sale_exactly(make_town: Callable[..., Town]) -> None:
    """Three workers, one of which leaves half-way: every order ends, every seat is sold once."""
    town = make_town(pools=(Pool("floor", 150),), shard_counts=(8,), hold_ttl_s=1, max_per_buyer=2)
    methods = (CARD, CARD, CARD, DECLINED_CARD)
    keys = [town.order(1 + n % 2, method=methods[n % 4], buyer=f"buyer-{n % 200}") for n in range(300)]
    for name in ("ann", "bob", "cid"):
        town.start(name)
    wait_until(lambda: any(order.status is Status.CONFIRMED for order in town.orders()))

    town.stop("bob")
    assert {member.name for member in town.store.members()} == {"ann", "cid"}
    wait_until(lambda: all(order.status in FINAL for order in town.orders()))

    check_invariants(town)
    assert len(town.orders()) == len(keys)
    assert town.pool().left == 0
    assert town.pool().sold_out


class Pausing(Cutter):
    """Stops every call of one worker at its third charge, as SIGSTOP would, until it is woken."""

    def __init__(self) -> None:
        super().__init__()
        self.charges = 0
        self.asleep = threading.Event()
        self.wake = threading.Event()

    def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        self.charges += name == "pay"
        if self.charges >= 3:
            self.asleep.set()
            self.wake.wait(PATIENCE_S)
        return super().call(name, function, args, options)


def test_q1_a_worker_that_pauses_in_the_middle_of_a_batch(make_town: Callable[..., Town]) -> None:
    """Q1: a worker stops dead at a charge and comes back long after another took over: one effect an order."""
    town = make_town(pools=(Pool("floor", 20),), hold_ttl_s=2)
    keys = [town.order() for _ in range(10)]
    pausing = Pausing()
    town.start("sleeper", payment_threads=2, cutter=pausing)
    assert pausing.asleep.wait(PATIENCE_S)

    town.start("other")
    wait_until(lambda: all(town.status(key) in FINAL for key in keys))
    before = town.statuses(keys)
    pausing.wake.set()
    town.stop("sleeper")

    assert town.statuses(keys) == before
    check_invariants(town)


def test_slow_payments_stop_nothing_but_payments(make_town: Callable[..., Town]) -> None:
    """While every payment call hangs, orders still get their seats."""
    town = make_town(pools=(Pool("floor", 100),))
    answer = threading.Event()

    def hang(_name: str) -> None:
        answer.wait(PATIENCE_S)

    town.payments.before = hang
    keys = [town.order() for _ in range(100)]
    town.start("ann", payment_threads=2)

    wait_until(lambda: town.seated(keys) == 100)
    assert town.statuses(keys) == {Status.HELD: 100}
    answer.set()
    wait_until(lambda: town.statuses(keys) == {Status.CONFIRMED: 100})

    check_invariants(town)


def test_a_hot_sale_does_not_starve_a_small_one(make_town: Callable[..., Town]) -> None:
    """While hundreds wait at one event, an order for another one is served at once."""
    hot = make_town(pools=(Pool("floor", 600),), shard_counts=(4,))
    small_sale = make_sale(
        event_id="small", opens_at_ms=hot.sale.opens_at_ms, closes_at_ms=hot.sale.closes_at_ms, shard_counts=(2,)
    )
    hot.store.create_sale(small_sale)
    hot.store.open_inventory(small_sale)
    keys = [hot.order() for _ in range(600)]
    big, hot.sale = hot.sale, small_sale
    small = hot.order()
    hot.sale = big
    hot.start("ann")

    wait_until(lambda: hot.status(small) in SEATED)
    waiting = sum(hot.status(key) is Status.QUEUED for key in keys[-100:])

    assert waiting > 0


def test_a_drain_ends_when_nothing_is_left_to_do(make_town: Callable[..., Town]) -> None:
    """A scheduled worker does all there is, says so, and leaves."""
    town = make_town(pools=(Pool("floor", 50),))
    keys = [town.order() for _ in range(40)]

    assert drain(town.tools(), "lambda", deadline_s=PATIENCE_S, quiet_s=1.0)

    assert town.statuses(keys) == {Status.CONFIRMED: 40}
    assert town.store.members() == ()
    check_invariants(town)


def test_a_drain_stops_at_its_deadline(make_town: Callable[..., Town]) -> None:
    """A drain that is not through at its deadline says so; the rest stays due."""
    town = make_town(pools=(Pool("floor", 50),))

    def linger(_name: str) -> None:
        threading.Event().wait(0.1)

    town.payments.before = linger
    keys = [town.order() for _ in range(40)]

    assert not drain(town.tools(), "lambda", deadline_s=0.5, payment_threads=1)

    assert town.statuses(keys)[Status.CONFIRMED] < 40
    check_invariants(town)


def test_a_store_out_of_reach_is_said_at_the_start(make_town: Callable[..., Town]) -> None:
    """A worker that cannot reach its store does not pretend to work."""
    town = make_town()
    town.store.close()

    with pytest.raises(Unavailable):
        run_worker(town.tools(), "ann", threading.Event())
