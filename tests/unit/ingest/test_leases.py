"""Above its share a process lives on leases, and all processes together never exceed the budget."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.budget import split_budget
from ingest.leases import LEASE_S, Leases
from ingest.process import build_app
from ingest.sale_cache import STALE_S
from shared.domain.errors import Unavailable
from shared.ports.control import GrantTurn, SaleView
from shared.stores.faults import FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts
from tests.unit.ingest.fleet import OwnClock, Process

T = TypeVar("T")


class Control(FaultyStore):
    """A control store that can fall silent, and counts what it is asked."""

    def __init__(self, inner: SqliteStore) -> None:
        super().__init__(inner, Script({}))
        self.silent = False

    def get_sale(self, event_id: str) -> SaleView:
        return self._heard(super().get_sale(event_id))

    def take_grant(self, event_id: str, grant_no: int, *, seen: int, op: str) -> GrantTurn:
        return self._heard(super().take_grant(event_id, grant_no, seen=seen, op=op))

    def _heard(self, answer: T) -> T:
        """Lose the answer of what was done: a write that took place is the worse case."""
        if self.silent:
            raise Unavailable
        return answer


@pytest.fixture
def control(inner: SqliteStore) -> Control:
    """Return the control store of all processes."""
    return Control(inner)


def _rates(processes: list[Process], clock: FakeClock, accept_per_s: int, *, seconds: int) -> list[list[int]]:
    """Press every process of the list for some seconds; what each took in each second."""
    rates = []
    for _ in range(seconds):
        taken = [0] * len(processes)
        for _ in range(100):
            for at, process in enumerate(processes):
                while process.takes(accept_per_s):
                    taken[at] += 1
            clock.advance(0.01)
        rates.append(taken)
    return rates


@pytest.mark.parametrize(("accept_per_s", "processes"), [(100, 4), (1_000, 3), (7, 3), (1, 2), (5, 40), (999, 1)])
def test_shares_and_grants_are_the_whole_budget(accept_per_s: int, processes: int) -> None:
    """Nothing is lost by rounding and nothing given twice."""
    split = split_budget(accept_per_s, processes)

    assert split.share * processes + sum(split.grants) == accept_per_s
    assert all(grant >= 1 for grant in split.grants)
    assert len(split.grants) <= processes


def test_equally_busy_processes_come_to_the_whole_budget(control: Control, clock: FakeClock) -> None:
    """Each has its share at once, and its part of the leases soon."""
    processes = [Process(control, clock, processes=4, seed=seed) for seed in range(4)]

    rates = _rates(processes, clock, 100, seconds=40)

    assert rates[0] == [12, 12, 12, 12]
    assert {sum(taken) for taken in rates[-10:]} == {100}


def test_a_busy_process_among_idle_ones_leases_what_they_do_not_need(control: Control, clock: FakeClock) -> None:
    """All grants can be had by one process, one more every other second; never the others' shares."""
    busy = Process(control, clock, processes=4)

    rates = [taken for (taken,) in _rates([busy], clock, 100, seconds=20)]

    assert rates[0] == 12
    assert rates[-1] == 100 - 3 * 12
    assert rates == sorted(rates)


def test_what_is_not_needed_any_more_lapses(control: Control, clock: FakeClock) -> None:
    """Another process has all grants once it has seen them untaken for longer than a lease."""
    first, second = (Process(control, clock, processes=2, seed=seed) for seed in range(2))
    assert _rates([first], clock, 100, seconds=6)[-1] == [75]
    clock.advance(LEASE_S)

    rates = [taken for (taken,) in _rates([second], clock, 100, seconds=40)]

    assert rates[0] == 25
    assert rates[-1] == 75


def test_a_quiet_process_asks_for_nothing(control: Control, clock: FakeClock) -> None:
    """Below its share a process makes no call but the read of the sale."""
    process = Process(control, clock, processes=2)
    for _ in range(200):
        assert process.takes(100)
        clock.advance(0.05)

    assert control.calls == Counter(get_sale=10)


def test_the_control_store_is_called_once_a_second_at_most(control: Control, clock: FakeClock) -> None:
    """Reads of the sale and tries for leases together, under any pressure."""
    process = Process(control, clock, processes=50)
    a_second = []
    for _ in range(30):
        before = control.calls.total()
        _rates([process], clock, 1_000, seconds=1)
        a_second.append(control.calls.total() - before)

    assert max(a_second) == 1
    assert control.calls["take_grant"] >= 10
    assert control.calls["get_sale"] >= 10


def test_an_hour_without_the_control_store(inner: SqliteStore, parts_over: MakeParts, clock: FakeClock) -> None:
    """Warm processes go on for a minute, on their share once leases have lapsed; then 503; never a 500; then as before.

    A process that starts meanwhile answers 503 until the store is back.
    """
    inner.create_sale(make_sale(event_id="big", accept_per_s=100, closes_at_ms=10**12))
    control = Control(inner)
    warm, cold = (Client(build_app(parts_over(control, processes=2, seed=seed)), "ann", "buy") for seed in range(2))

    def second(client: Client) -> Counter[int]:
        answers: Counter[int] = Counter()
        for _ in range(20):
            answers.update(client.order(event_id="big").status for _ in range(3))
            clock.advance(0.05)
        return answers

    before = [second(warm) for _ in range(5)][-1]
    control.silent = True
    during = [second(warm) for _ in range(int(LEASE_S) + 2)][-1]
    clock.advance(STALE_S)
    after_a_minute = second(warm)
    start = second(cold)
    for _ in range(58):
        clock.advance(60)
        assert warm.order(event_id="big").status == cold.order(event_id="big").status == 503
    control.silent = False
    clock.advance(1)
    recovered = [second(warm) for _ in range(15)][-1]

    assert before[202] > 50
    assert 20 <= during[202] <= 25
    assert set(during) == {202, 503}
    assert set(after_a_minute) == set(start) == {503}
    assert recovered[202] > 50
    assert second(cold)[202] >= 20


@dataclass
class Fleet:
    """Processes that come and go, and every order they admitted with its true time."""

    accept_per_s: int
    size: int
    clock: FakeClock = field(default_factory=FakeClock)
    admitted_ms: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        inner = SqliteStore(None, self.clock)
        inner.create_sale(make_sale())
        self.inner = inner
        self.control = Control(inner)
        self.born = 0
        self.places: list[Process | None] = [None] * self.size
        self.ready_ms = [0] * self.size

    def start(self, place: int, offset_s: float, rate: float) -> None:
        """Start a process where none runs; it admits nothing before it is a second old."""
        self.born += 1
        clock = OwnClock(self.clock, offset_s=offset_s, rate=rate)
        self.places[place] = Process(self.control, clock, processes=self.size, seed=self.born)
        self.ready_ms[place] = self.clock.at_ms + 1_000

    def kill(self, place: int) -> None:
        """End a process without a word."""
        self.places[place] = None

    def press(self, place: int, wanted: int) -> None:
        """Send requests to one process."""
        process = self.places[place]
        if process is None or self.clock.at_ms < self.ready_ms[place]:
            return
        for _ in range(wanted):
            if process.takes(self.accept_per_s):
                self.admitted_ms.append(self.clock.at_ms)

    def most_in_a_second(self) -> int:
        """Count the fullest of all seconds (t - 1 s, t]."""
        most = first = 0
        for last, at_ms in enumerate(self.admitted_ms):
            while self.admitted_ms[first] <= at_ms - 1_000:
                first += 1
            most = max(most, last - first + 1)
        return most


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("press"), st.integers(0, 5), st.integers(1, 40)),
        st.tuples(st.just("all"), st.just(0), st.integers(1, 40)),
        st.tuples(st.just("wait"), st.just(0), st.sampled_from([1, 50, 100, 400, 1_000, 2_500, 6_000, 11_300])),
        st.tuples(st.just("replace"), st.integers(0, 5), st.integers(-10_000, 10_000)),
        st.tuples(st.just("silence"), st.just(0), st.integers(0, 1)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(accept_per_s=st.integers(1, 60), size=st.integers(1, 6), rates=st.lists(st.floats(0.995, 1.005)), steps=_STEPS)
def test_no_second_ever_exceeds_the_budget(
    accept_per_s: int, size: int, rates: list[float], steps: list[tuple[str, int, int]]
) -> None:
    """Over any number of processes, with clocks that were never set, crashes at any moment and lost answers."""
    fleet = Fleet(accept_per_s, size)
    for place in range(size):
        fleet.start(place, 1_000.0 * place, 1.0)
    fleet.clock.advance(1)
    for kind, place, value in steps:
        at = place % size
        if kind == "press":
            fleet.press(at, value)
        elif kind == "all":
            for each in range(size):
                fleet.press(each, value)
        elif kind == "wait":
            fleet.clock.advance(value / 1000)
        elif kind == "replace":
            fleet.kill(at)
            fleet.start(at, value, rates[fleet.born % len(rates)] if rates else 1.0)
        else:
            fleet.control.silent = bool(value)
    fleet.inner.close()

    assert fleet.most_in_a_second() <= accept_per_s


def test_a_crowd_that_never_stops_never_exceeds_the_budget(clock: FakeClock) -> None:
    """A minute at full pressure with a crash every few seconds: the budget is kept, and most of it is used."""
    fleet = Fleet(200, 5)
    for place in range(5):
        fleet.start(place, 100.0 * place, 1 + (place - 2) / 500)
    for step in range(1_200):
        for place in range(5):
            fleet.press(place, 6)
        fleet.clock.advance(0.05)
        if step % 130 == 129:
            fleet.kill(step % 5)
            fleet.start(step % 5, float(step), 1.0)
    fleet.inner.close()

    assert fleet.most_in_a_second() <= 200
    assert len(fleet.admitted_ms) > 60 * 200 * 0.7


class _Tryer:
    """One process's leases on a single grant, by its own clock, tried for at every opportunity."""

    def __init__(self, fleet: SqliteStore, clock: OwnClock, name: str) -> None:
        self._store = fleet
        self._clock = clock
        self._name = name
        self._calls = 0
        self._leases = Leases()

    def try_for_it(self, world: FakeClock, *, there_s: float, back_s: float, lost: bool) -> None:
        """Make a call that takes `there_s` to be carried out and `back_s` to be answered, if it is."""
        now_s = self._clock.monotonic_s()
        wish = self._leases.wish((1,), now_s, luck=0.0)
        if wish is None:
            return
        self._calls += 1
        world.advance(there_s)
        answer = self._store.take_grant("gig", 0, seen=wish.seen, op=f"{self._name}-{self._calls}")
        world.advance(back_s)
        if not lost:
            self._leases.settle(0, answer, sent_s=now_s, now_s=self._clock.monotonic_s())

    def holds(self) -> bool:
        return self._leases.allowed((1,), self._clock.monotonic_s()) == 1


@pytest.mark.parametrize("seed", range(20))
def test_leases_on_one_grant_lie_a_second_apart(seed: int) -> None:
    """Whatever the clocks say, however slow a call is, and whether its answer comes."""
    chance = random.Random(seed)
    world = FakeClock()
    store = SqliteStore(None, world)
    clocks = [OwnClock(world, offset_s=1e4 * no, rate=chance.uniform(0.99, 1.01)) for no in range(2)]
    tryers = [_Tryer(store, clock, str(no)) for no, clock in enumerate(clocks)]
    last_held_ms: dict[int, int] = {}
    holders: set[int] = set()
    busy = 0
    for _ in range(6_000):
        world.advance(chance.uniform(0, 0.3))
        _note_holders(tryers, world, last_held_ms)
        if chance.random() < 0.01:
            busy = 1 - busy
        who = busy if chance.random() < 0.93 else 1 - busy
        there_s, back_s = (chance.choice((0.0, 0.01, 0.3)) for _ in range(2))
        tryers[who].try_for_it(world, there_s=there_s, back_s=back_s, lost=chance.random() < 0.2)
        _note_holders(tryers, world, last_held_ms)
        holders |= last_held_ms.keys()
    store.close()

    assert holders == {0, 1}


def _note_holders(tryers: list[_Tryer], world: FakeClock, last_held_ms: dict[int, int]) -> None:
    for who, tryer in enumerate(tryers):
        if tryer.holds():
            others = [at_ms for other, at_ms in last_held_ms.items() if other != who]
            assert all(world.at_ms - at_ms >= 1_000 for at_ms in others)
            last_held_ms[who] = world.at_ms
