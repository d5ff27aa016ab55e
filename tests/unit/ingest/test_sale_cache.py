"""What the door knows of a sale, how old it may be, and what it costs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest.sale_cache import MAX_SALES, SaleCache
from shared.domain.errors import NotFound, Unavailable
from shared.domain.sale import SaleStatus
from shared.ports.control import SaleView
from tests.builders import make_sale
from tests.fakes.system import FakeClock


class _Control:
    """A control store with one sale, which can fall silent."""

    def __init__(self) -> None:
        self.sale = make_sale()
        self.reads = 0
        self.silent = False
        self.barrier: threading.Event | None = None

    def get_sale(self, event_id: str) -> SaleView:
        self.reads += 1
        if self.barrier is not None:
            self.barrier.wait(10)
        if self.silent:
            raise Unavailable
        if event_id != "gig":
            raise NotFound
        return SaleView(self.sale, None)


@pytest.fixture
def control() -> _Control:
    """Return the store."""
    return _Control()


@pytest.fixture
def cache(control: _Control, clock: FakeClock) -> SaleCache:
    """Return a cold cache over it."""
    return SaleCache(control, clock)  # type: ignore[arg-type] # one method of the port is all it needs


def test_a_sale_is_read_once_a_second(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """A thousand requests over ten seconds cost ten reads."""
    for _ in range(1_000):
        cache.get("gig")
        clock.advance(0.01)

    assert control.reads == 10


def test_a_change_is_seen_within_a_second(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """A pause by another process takes effect with the next read."""
    cache.get("gig")
    control.sale = control.sale.changed(SaleStatus.PAUSED)
    clock.advance(0.99)
    assert cache.get("gig").sale.status is SaleStatus.ACTIVE
    clock.advance(0.02)

    assert cache.get("gig").sale.status is SaleStatus.PAUSED


def test_fifty_cold_requests_are_one_read(cache: SaleCache, control: _Control) -> None:
    """All wait for the one that reads, and none asks again."""
    control.barrier = threading.Event()
    with ThreadPoolExecutor(50) as pool:
        views = [pool.submit(cache.get, "gig") for _ in range(50)]
        control.barrier.set()

    assert {view.result().sale.event_id for view in views} == {"gig"}
    assert control.reads == 1


def test_a_slow_read_holds_nobody_up(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """While one request reads anew, others go on with what was known."""
    cache.get("gig")
    clock.advance(1.5)
    control.barrier = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(cache.get, "gig")
        while control.reads < 2:
            pass
        assert cache.get("gig").sale.event_id == "gig"
        control.barrier.set()
        reading.result()

    assert control.reads == 2


def test_a_silent_store_is_bridged_for_a_minute(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """What was known serves for 60 s, asked for once a second; then it is too old to be true."""
    cache.get("gig")
    control.silent = True
    for _ in range(590):
        clock.advance(0.1)
        cache.get("gig")
    assert control.reads <= 61
    clock.advance(1.1)

    with pytest.raises(Unavailable):
        cache.get("gig")


def test_a_cold_process_knows_nothing(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """With a silent store it says so at once, without asking again for every request."""
    control.silent = True
    for _ in range(100):
        with pytest.raises(Unavailable):
            cache.get("gig")
    assert control.reads == 1

    control.silent = False
    clock.advance(1)

    assert cache.get("gig").sale.event_id == "gig"


def test_an_idle_process_reads_before_it_speaks(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """After half a minute without requests nobody is served the old view while a read is under way."""
    cache.get("gig")
    clock.advance(30)
    control.sale = control.sale.changed(SaleStatus.PAUSED)
    control.barrier = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        views = [pool.submit(cache.get, "gig") for _ in range(8)]
        control.barrier.set()

    assert {view.result().sale.status for view in views} == {SaleStatus.PAUSED}
    assert control.reads == 2


def test_what_is_not_there_is_remembered_for_a_second(cache: SaleCache, control: _Control, clock: FakeClock) -> None:
    """A wrong address costs one read a second, and is found once it exists."""
    for _ in range(100):
        with pytest.raises(NotFound):
            cache.get("nowhere")
    assert control.reads == 1
    clock.advance(1)
    with pytest.raises(NotFound):
        cache.get("nowhere")

    assert control.reads == 2


def test_wrong_addresses_do_not_push_sales_out(cache: SaleCache, control: _Control) -> None:
    """Thousands of ids that do not exist leave the one that does in place, and memory bounded."""
    cache.get("gig")
    for number in range(MAX_SALES * 5):
        with pytest.raises(NotFound):
            cache.get(f"no-{number}")
    reads = control.reads
    cache.get("gig")

    assert control.reads == reads
    assert len(cache._missing) <= 4 * MAX_SALES


def test_a_forgotten_sale_is_read_anew(cache: SaleCache, control: _Control) -> None:
    """A process sees its own changes at once."""
    cache.get("gig")
    control.sale = control.sale.changed(SaleStatus.CLOSED)
    cache.forget("gig")

    assert cache.get("gig").sale.status is SaleStatus.CLOSED
