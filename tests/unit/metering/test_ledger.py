"""Every attempt counts once, in bounded memory."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.throttling.report import add_attempts
from shared.domain.throttling.request import OK, Ending, Request, Throttle
from shared.metering import ledger as room
from shared.metering import watch as watch_room
from shared.metering.ledger import Ledger
from shared.metering.meter import MAX_SERIES, Meter
from shared.metering.watch import Watch
from shared.metrics import ATTEMPTS, FIRST_ATTEMPT_S, GIVEN_UP, REQUESTS, RETRYING_S, THROTTLES
from shared.retry import Attempt, Finished
from shared.stores.wrapped import WrappedStore
from tests.fakes.system import FakeClock


def request(place: str, operation: str = "PutItem") -> Request:
    """Make a write to one key."""
    return Request(operation, "orders", "", place, writes=True, demand={place: 1.0})


def refused(place: str, reason: str = "TableWriteKeyRangeThroughputExceeded") -> Ending:
    """Make a throttle of it."""
    return Ending("throttled", Throttle("orders", "", place, reason))


def test_a_rate_is_throttled_over_all() -> None:
    """Other failures are attempts, not throttles."""
    ledger = Ledger(FakeClock(), Meter())
    for ending in (OK, refused("gig#1"), OK, Ending("contended")):
        ledger.note(request("gig#1"), ending)

    counted = ledger.read()
    assert counted.rate == 0.25
    assert counted.rows["orders", "", "PutItem", "gig#1"].failed == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2)), max_size=60))
def test_processes_add_up(attempts: list[tuple[int, bool, int]]) -> None:
    """However attempts are spread over processes, together they are counted as one process would."""
    clock = FakeClock()
    parts = [Ledger(clock, Meter()) for _ in range(3)]
    alone = Ledger(clock, Meter())
    for shard, throttled, process in attempts:
        ending = refused(f"gig#{shard}") if throttled else OK
        clock.advance(0.4)
        for ledger in (alone, parts[process]):
            ledger.note(request(f"gig#{shard}"), ending)

    added, expected = add_attempts(part.read() for part in parts), alone.read()
    assert added.rows == expected.rows
    assert added.throttles == expected.throttles
    assert added.buckets == expected.buckets
    assert {key: one.refused for key, one in added.demand.items()} == {
        key: one.refused for key, one in expected.demand.items()
    }


def test_memory_is_bounded_and_totals_stay_exact() -> None:
    """However many keys, reasons, events and hours there are."""
    clock = FakeClock()
    ledger = Ledger(clock, Meter())
    for number in range(6_000):
        clock.advance(1)
        ledger.note(request(f"e{number}#{number}"), refused(f"e{number}#{number}", f"reason-{number}"))

    counted = ledger.read()
    assert counted.total == counted.throttled == 6_000
    assert sum(one.count for one in counted.throttles.values()) == 6_000
    assert len(counted.rows) <= room.MAX_ROWS + 1
    assert len(counted.throttles) <= room.MAX_THROTTLES + 1
    assert len(counted.buckets) <= room.MAX_BUCKETS
    assert len(counted.demand) <= room.MAX_EVENTS + 1
    assert all(len(one.seconds) <= room.MAX_SECONDS + 1 for one in counted.demand.values())


def test_the_worst_refused_second_is_remembered() -> None:
    """Long after it is over a throttle can still be explained."""
    clock = FakeClock()
    ledger = Ledger(clock, Meter())
    for _ in range(70):
        ledger.note(request("gig#1"), refused("gig#1"))
    for _ in range(500):
        clock.advance(1)
        ledger.note(request("gig#1"), OK)

    assert ledger.read().demand["orders", "gig", True].peak == 70


def test_no_attempt_is_lost_between_threads() -> None:
    """Eight threads, one ledger, and the meter agrees with it."""
    watch = Watch(FakeClock())
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        for _ in range(500):
            watch.attempted(Attempt("accept", f"gig#{number}", 1, "throttled", "R", "table/x-orders"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    series = watch.meter.read()
    assert watch.ledger.read().total == 4_000
    assert series[ATTEMPTS.name]["orders", "", "PutItem"].value == 4_000
    assert series[THROTTLES.name]["orders", "", "R"].value == 4_000


def test_labels_are_bounded() -> None:
    """Whatever stands in a label, a metric has a limited number of series, and no count is lost."""
    meter = Meter()
    for number in range(3 * MAX_SERIES):
        meter.count(REQUESTS, f"operation-{number}", "200")

    series = meter.read()[REQUESTS.name]
    assert len(series) == MAX_SERIES + 1
    assert sum(one.value for one in series.values()) == 3 * MAX_SERIES


def test_every_call_of_the_store_is_known() -> None:
    """No call of the port is counted as something else for want of a shape."""
    calls = {name for name in vars(WrappedStore) if not name.startswith("_") and name != "close"}

    assert calls == set(watch_room._SHAPES)


def test_what_is_not_there_is_an_answer() -> None:
    """A refusal is neither a throttle nor a failure; a broken item is one."""
    watch = Watch(FakeClock())
    for outcome in ("ok", "not-found", "invalid", "broken", "contended"):
        watch.attempted(Attempt("get_sale", "gig", 1, outcome))

    (row,) = watch.ledger.read().rows.values()
    assert (row.attempts, row.failed, row.throttled) == (5, 2, 0)


def test_a_call_is_split_into_its_first_attempt_and_what_came_after() -> None:
    """Only repeated calls have something after it; one that ended badly is given up."""
    watch = Watch(FakeClock())
    watch.finished(Finished("accept", 1, 0.01, 0.0, "ok"))
    watch.finished(Finished("accept", 4, 0.01, 0.7, "throttled"))

    series = watch.meter.read()
    assert series[FIRST_ATTEMPT_S.name]["accept",].count == 2
    assert series[RETRYING_S.name]["accept",].value == 0.7
    assert {labels: one.value for labels, one in series[GIVEN_UP.name].items()} == {("accept", "throttled"): 1}
