"""Orders that arrive together on SQLite: one statement for all, and each its own answer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from shared.domain.errors import Moved
from shared.domain.order import Order, Status
from shared.ports.orders import Accepted
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order
from tests.fakes.system import FakeClock

Rush = Callable[[list[Order]], list[Future[Accepted]]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Open a store."""
    store = SqliteStore(tmp_path, FakeClock())
    yield store
    store.close()


@pytest.fixture
def rush(store: SqliteStore) -> Rush:
    """Return what lets orders be accepted in one transaction: another job holds the lead until all wait."""

    def run(orders: list[Order]) -> list[Future[Accepted]]:
        leads = threading.Event()

        def wait_for_all(_: sqlite3.Connection) -> None:
            leads.set()
            while len(store._database._group._queue) < len(orders):
                threading.Event().wait(0.001)

        with ThreadPoolExecutor(len(orders) + 1) as pool:
            pool.submit(store._database.write, wait_for_all)
            assert leads.wait(30)
            return [pool.submit(store.accept, order) for order in orders]

    return run


def changes(store: SqliteStore) -> list[str]:
    """List the order ids of the change log's new items, in no order."""
    query = "SELECT json_extract(new, '$.sk') FROM changes WHERE old IS NULL"
    return [sk for (sk,) in store._database.read(lambda connection: connection.execute(query).fetchall())]


def test_all_are_stored_and_told_to_the_stream(store: SqliteStore, rush: Rush) -> None:
    """Each once, in its own place."""
    orders = [make_order(number, op=f"op-{number}") for number in range(1, 41)]

    answers = [answer.result() for answer in rush(orders)]

    assert [answer.order for answer in answers] == orders
    assert all(answer.created for answer in answers)
    assert all(store.get_order(order.key) == order for order in orders)
    assert sorted(changes(store)) == sorted(order.key.order_id for order in orders)


def test_one_key_is_one_order_however_many_bring_it(store: SqliteStore, rush: Rush) -> None:
    """Of those that arrive together one is created; all others are answered with it, old ones with the old."""
    old = make_order(1, op="old")
    store.accept(old)
    repeats = [replace(old, op=f"again-{number}") for number in range(3)]
    twins = [make_order(2, op=f"twin-{number}") for number in range(5)]
    others = [make_order(number, op=f"op-{number}") for number in range(3, 9)]

    answers = [answer.result() for answer in rush([*repeats, *twins, *others])]

    assert [(answer.order, answer.created) for answer in answers[:3]] == [(old, False)] * 3
    twin = store.get_order(twins[0].key)
    assert [answer.order for answer in answers[3:8]] == [twin] * 5
    assert [answer.created for answer in answers[3:8]] == [one == twin for one in twins]
    assert all(answer.created for answer in answers[8:])
    assert sorted(changes(store)) == sorted(order.key.order_id for order in [old, twins[0], *others])


def test_a_lost_answer_repeated_among_others_is_recognised(store: SqliteStore, rush: Rush) -> None:
    """The same `op` is told that it created the order, and the stream hears of it once."""
    order = make_order(1, op="mine")
    store.accept(order)

    again, *_ = [answer.result() for answer in rush([order, make_order(2, op="other")])]

    assert again == Accepted(order, created=True)
    assert len(changes(store)) == 2


def test_one_that_was_moved_does_not_hurt_those_beside_it(store: SqliteStore, rush: Rush) -> None:
    """Who meets a tombstone is told where to look; the others are stored."""
    old_home = make_order(1)
    moved = make_order(9, op="gone", older_homes=(old_home.key,))
    store.accept(moved)
    left = replace(moved, status=Status.CANCELLED, rev=moved.rev + 1, op="cancel")
    assert store.save(left, seen_rev=moved.rev).done
    others = [make_order(number, op=f"op-{number}") for number in range(2, 6)]

    met, *answers = rush([old_home, *others])

    assert isinstance(met.exception(), Moved)
    assert all(answer.result().created for answer in answers)
    assert all(store.get_order(order.key) == order for order in others)
