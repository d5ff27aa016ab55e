"""One buyer's pace: a guard, in bounded memory, that no statistics can hold up."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from ingest import buyer_guard as room
from ingest.buyer_guard import MARKED, ORDINARY, BuyerGuard
from ingest.door import Door
from ingest.errors import TooFast
from ingest.marked_buyers import TTL_S, Job, MarkedBuyers
from ingest.parts import Parts
from ingest.process import build_app
from shared.domain.errors import Unavailable
from shared.domain.stats.mark import Mark
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client


class Statistics:
    """Marks to be read, unless they do not answer; jobs are done when the test says so."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.down = False
        self.reads = 0
        self.jobs: list[Job] = []

    def read(self) -> Sequence[Mark]:
        self.reads += 1
        if self.down:
            raise Unavailable
        return self.marks

    def work(self) -> None:
        """Do the jobs that were asked for."""
        while self.jobs:
            self.jobs.pop()()


@pytest.fixture
def statistics() -> Statistics:
    """Return statistics in which nobody is marked."""
    return Statistics()


@pytest.fixture
def marked(statistics: Statistics, clock: FakeClock) -> MarkedBuyers:
    """Return the door's list of them."""
    return MarkedBuyers(statistics.read, clock, aside=statistics.jobs.append)


@pytest.fixture
def guard(marked: MarkedBuyers, clock: FakeClock) -> BuyerGuard:
    """Return the guard with the paces it has in earnest."""
    return BuyerGuard(clock, SeededIds(), marked)


def taken(guard: BuyerGuard, buyer: str, tries: int) -> int:
    """Count the orders that get through at one moment."""
    count = 0
    for _ in range(tries):
        try:
            guard.admit(buyer)
        except TooFast:
            continue
        count += 1
    return count


def test_a_buyer_has_a_pace(guard: BuyerGuard, clock: FakeClock) -> None:
    """A burst at once, then so many a second, whatever others do."""
    assert taken(guard, "ann", 100) == ORDINARY.burst
    assert taken(guard, "bob", 1) == 1
    clock.advance(2)
    assert taken(guard, "ann", 100) == 2 * ORDINARY.per_s


def test_a_marked_buyer_is_slowed_down(guard: BuyerGuard, statistics: Statistics, clock: FakeClock) -> None:
    """From the next reading of the list until the mark lapses, and told a time that is late enough."""
    statistics.marks = [Mark("bot", 9.0, until_ms=clock.now_ms() + 60_000)]
    guard.admit("bot")
    statistics.work()

    assert taken(guard, "bot", 100) == MARKED.burst
    assert taken(guard, "ann", 100) == ORDINARY.burst
    with pytest.raises(TooFast) as told:
        guard.admit("bot")
    assert told.value.retry_after_s is not None
    clock.advance(told.value.retry_after_s)
    guard.admit("bot")

    clock.advance(60)
    assert taken(guard, "bot", 100) == ORDINARY.burst


def test_the_list_is_read_every_five_seconds(marked: MarkedBuyers, statistics: Statistics, clock: FakeClock) -> None:
    """However many ask, one reading is under way at a time, and nobody waits for it."""
    for _ in range(300):
        marked.has("ann")
        clock.advance(0.1)
        statistics.work()
    assert statistics.reads == round(30 / TTL_S)

    for _ in range(100):
        marked.has("ann")
        clock.advance(1)
    assert len(statistics.jobs) == 1


def test_silent_statistics_are_never_in_the_way(marked: MarkedBuyers, statistics: Statistics, clock: FakeClock) -> None:
    """The last list stands while they are silent, and everybody is served."""
    statistics.marks = [Mark("bot", 9.0, until_ms=clock.now_ms() + 60_000)]
    marked.has("bot")
    statistics.work()
    statistics.down = True
    for _ in range(5):
        clock.advance(TTL_S)
        assert marked.has("bot")
        assert not marked.has("ann")
        statistics.work()
    clock.advance(60)
    assert not marked.has("bot")


def test_memory_is_bounded(guard: BuyerGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of buyers take no more room than the number that is kept."""
    monkeypatch.setattr(room, "MAX_BUYERS", 50)
    for number in range(500):
        guard.admit(f"buyer-{number}")

    assert len(guard) == 50


def test_the_door_says_too_many_requests(parts: Parts, clock: FakeClock, guard: BuyerGuard) -> None:
    """429 as a problem with the time to wait; it takes nothing of the sale's budget, and a stored order stays."""
    door: Door = build_app(replace(parts, guard=guard))
    ann = Client(door, "ann", "buy")
    replies = [ann.order(key=f"k{number}") for number in range(int(ORDINARY.burst) + 5)]

    refused = [reply for reply in replies if reply.status != 202]
    assert [reply.status for reply in refused] == [429] * 5
    assert {reply.problem for reply in refused} == {"too-many-orders"}
    assert all(int(reply.headers["Retry-After"]) >= 1 for reply in refused)
    clock.advance(1)
    assert ann.order(key="k0").json["order_id"] == replies[0].json["order_id"]
