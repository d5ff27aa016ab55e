"""The store as fibers see it: the SDK's requests leave by the loop, and end as they do on threads."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pytest

from infra.local.fiber_exchange import FiberExchange
from infra.local.fibers import Fibers
from infra.local.ministack import REGION
from shared.domain.errors import AnswerLost, Unavailable
from shared.ports.exchange import HttpAnswer, HttpRequest, NoAnswer
from shared.ports.orders import Accepted
from shared.stores.dynamo.client import connect
from shared.stores.dynamo.store import DynamoStore, open_store
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.builders import make_order
from tests.integration.dynamo.conftest import NOWHERE

T = TypeVar("T")
WITHIN_S = 60
MANY = 50
_runs = itertools.count()


class _Noting(FiberExchange):
    """Counts what it sends, and on which thread; loses an answer when told to."""

    def __init__(self, fibers: Fibers) -> None:
        super().__init__(fibers)
        self.threads: list[int] = []
        self.loses = False

    def __call__(self, request: HttpRequest) -> HttpAnswer | None:
        answer = super().__call__(request)
        if answer is not None:
            self.threads.append(threading.get_ident())
        if self.loses:
            self.loses = False
            raise NoAnswer(request.url)
        return answer


@dataclass(frozen=True, slots=True)
class House:
    """A store and the fibers that call it."""

    fibers: Fibers
    exchange: _Noting
    store: DynamoStore

    def run(self, *calls: Callable[[], T]) -> list[T | BaseException]:
        """Make all calls at once, on one thread; return what each came to."""

        async def run() -> list[T | BaseException]:
            try:
                return await asyncio.gather(*(self.fibers.run(call) for call in calls), return_exceptions=True)
            finally:
                await self.exchange.close()

        return asyncio.run(asyncio.wait_for(run(), WITHIN_S))


@contextmanager
def _house(url: str, tables: Tables) -> Iterator[House]:
    fibers = Fibers()
    exchange = _Noting(fibers)
    store = open_store(tables.prefix, region=REGION, endpoint_url=url, exchange=exchange)
    yield House(fibers, exchange, store)
    store.close()
    fibers.close()


@pytest.fixture
def house(ministack: str) -> Iterator[House]:
    """Give a store over fresh tables of the emulator."""
    client = connect(REGION, ministack)
    tables = Tables(f"fibers-{next(_runs)}")
    create_tables(client, tables)
    with _house(ministack, tables) as house:
        yield house
    delete_tables(client, tables)
    client.close()


def test_many_write_and_read_at_once_on_one_thread(house: House) -> None:
    """Every order is stored and found; whoever comes a second time meets the first."""
    orders = [make_order(number) for number in range(MANY)]

    stored = house.run(*(partial(house.store.accept, order) for order in orders))
    again = house.run(*(partial(house.store.accept, make_order(number, op="again")) for number in range(MANY)))
    read = house.run(*(partial(house.store.get_order, order.key) for order in orders))

    assert stored == [Accepted(order, created=True) for order in orders]
    assert again == [Accepted(order, created=False) for order in orders]
    assert read == orders
    assert len(house.exchange.threads) >= 3 * MANY
    assert set(house.exchange.threads) == {threading.get_ident()}


def test_a_thread_of_its_own_asks_as_ever(house: House) -> None:
    """The SDK's own transport carries it."""
    assert house.store.accept(make_order()).created
    assert house.store.get_order(make_order().key) == make_order()
    assert house.exchange.threads == []


def test_a_refused_request_says_why(house: House) -> None:
    """What the service answers with an error is that error."""
    elsewhere = DynamoStore(house.store._calls._client, Tables("elsewhere"))

    (refused,) = house.run(lambda: elsewhere.accept(make_order(op="a")))

    assert isinstance(refused, Unavailable)
    assert "does not exist" in refused.message
    assert len(house.exchange.threads) == 1


def test_a_lost_answer_is_told_and_its_repetition_recognised(house: House) -> None:
    """A write of which nothing is known; a read just did not come."""
    house.exchange.loses = True
    (lost,) = house.run(lambda: house.store.accept(make_order(op="a")))
    (again,) = house.run(lambda: house.store.accept(make_order(op="a")))
    house.exchange.loses = True
    (unread,) = house.run(lambda: house.store.get_order(make_order().key))

    assert isinstance(lost, AnswerLost)
    assert isinstance(again, Accepted)
    assert again.created
    assert isinstance(unread, Unavailable)
    assert not isinstance(unread, AnswerLost)


def test_a_service_that_is_not_there_was_not_asked() -> None:
    """A write that cannot have been applied is told so, with the address to look at."""
    with _house(NOWHERE, Tables("nowhere")) as house:
        (refused,) = house.run(lambda: house.store.accept(make_order(op="a")))

    assert isinstance(refused, Unavailable)
    assert not isinstance(refused, AnswerLost)
    assert NOWHERE in refused.message
