"""How long SQLite remembers an operation, and what it promises meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.domain import transitions
from shared.stores.sqlite import SqliteStore
from tests.contract.steps import batch_of, queue, sale_of, stored
from tests.fakes.system import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """Return the store's clock."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[SqliteStore]:
    """Open a store in memory with an open sale."""
    store = SqliteStore(None, clock)
    store.open_inventory(sale_of(40, slices=2))
    yield store
    store.close()


def test_a_batch_is_recognised_though_all_its_orders_moved_on(store: SqliteStore) -> None:
    """Others have written to every one of its orders since."""
    orders = queue(store, 2)
    batch = batch_of(orders)
    store.hold_batch(batch)
    for order in orders:
        held = stored(store, order)
        store.save(transitions.look_now(held, op="look", now_ms=30_000), seen_rev=held.rev)

    assert store.hold_batch(batch).held
    assert store.get_pool(sale_of(40, slices=2), "floor").taken == 2


def test_operations_are_forgotten_when_nobody_repeats_any_more(store: SqliteStore, clock: FakeClock) -> None:
    """After ten minutes they are still known; long after a rush hardly any take room."""
    for number in range(10):
        assert store.draw("gig", "floor", 0, 1, op=f"op-{number}")
    clock.advance(600)
    assert store.draw("gig", "floor", 0, 1, op="op-0")
    assert store.get_pool(sale_of(40, slices=2), "floor").slices[0].unsold == 20

    clock.advance(3_600)
    for number in range(10):
        assert store.give_back("gig", "floor", 0, 1, op=f"late-{number}")
    known = store._database.read(lambda connection: connection.execute("SELECT op FROM done").fetchall())
    assert sorted(op for (op,) in known) == [f"late-{number}" for number in range(10)]
