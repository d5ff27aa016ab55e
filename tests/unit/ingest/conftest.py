"""The door over a store in memory, in a time that stands still."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pytest
from aws_lambda_powertools import Logger
from msgspec.structs import replace

from ingest.buyer_guard import BuyerGuard, Pace
from ingest.door import Door
from ingest.marked_buyers import MarkedBuyers, nobody
from ingest.parts import Parts, make_parts
from ingest.process import build_app
from shared.domain.errors import AnswerLost
from shared.payments.charges import check_chargeable
from shared.ports.store import Store
from shared.retry import Retrier, RetryPolicy
from shared.stores.faults import FaultyStore, Schedule, Script
from shared.stores.retrying import RetryingStore
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client

MakeParts = Callable[..., Parts]


@pytest.fixture
def clock() -> FakeClock:
    """Return the time of everything: 10 s after the epoch, with the sale open since second 1."""
    return FakeClock()


@pytest.fixture
def inner(clock: FakeClock) -> Iterator[SqliteStore]:
    """Return the store as it is, with one sale open: ten seats on the floor."""
    store = SqliteStore(None, clock)
    sale = make_sale()
    store.open_inventory(sale)
    store.create_sale(sale)
    yield store
    store.close()


@pytest.fixture
def logs() -> io.StringIO:
    """Return what the door logs."""
    return io.StringIO()


@pytest.fixture
def parts_over(clock: FakeClock, logs: io.StringIO, request: pytest.FixtureRequest) -> MakeParts:
    """Return a maker of parts over any store, each as another process would have them."""

    def make(store: Store, *, processes: int = 1, seed: int = 0) -> Parts:
        logger = Logger(service=f"{request.node.name}-{seed}", level="DEBUG", stream=logs)
        # As in front of every store; what is not lost but refused comes through at once, so that tests can see it.
        retrier = Retrier(clock, SeededIds(seed), lambda _: None, policy=RetryPolicy(tries={AnswerLost.code: 2}))
        parts = make_parts(
            RetryingStore(store, retrier),
            clock,
            SeededIds(seed),
            processes=processes,
            check_chargeable=check_chargeable,
            logger=logger,
        )
        # In a time that stands still everybody is too fast; the guard has tests of its own.
        anybody = BuyerGuard(clock, parts.ids, MarkedBuyers(nobody, clock), ordinary=Pace(burst=10_000, per_s=10_000))
        return replace(parts, guard=anybody)

    return make


@pytest.fixture
def script() -> Schedule:
    """Return what goes wrong with the store: nothing, unless a test says otherwise."""
    return Script({})


@pytest.fixture
def store(inner: SqliteStore, script: Schedule) -> FaultyStore:
    """Return the store as the door sees it; it counts the calls."""
    return FaultyStore(inner, script)


@pytest.fixture
def parts(parts_over: MakeParts, store: FaultyStore) -> Parts:
    """Return one process's parts."""
    return parts_over(store)


@pytest.fixture
def door(parts: Parts) -> Door:
    """Return one process's door."""
    return build_app(parts)


@pytest.fixture
def ann(door: Door) -> Client:
    """Return a buyer."""
    return Client(door, "ann", "buy")


@pytest.fixture
def bob(door: Door) -> Client:
    """Return another buyer."""
    return Client(door, "bob", "buy")


@pytest.fixture
def staff(door: Door) -> Client:
    """Return a member of staff who may change things."""
    return Client(door, "boss", "staff:write")


@pytest.fixture
def reader(door: Door) -> Client:
    """Return a member of staff who may only look."""
    return Client(door, "clerk", "staff:read")
