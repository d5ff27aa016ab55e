"""When a sale counts as drained: nothing is due, and nobody waits who would fit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from infra.demo.look import look
from shared.domain.order import Demand, Duty
from shared.domain.sale import Pool, Sale
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock


@pytest.fixture
def sale() -> Sale:
    """Two seats on four shards."""
    return make_sale(pools=(Pool("floor", 2),))


@pytest.fixture
def store(sale: Sale) -> Iterator[SqliteStore]:
    """A store in memory with the sale opened."""
    store = SqliteStore(None, FakeClock())
    store.create_sale(sale)
    store.open_inventory(sale)
    yield store
    store.close()


def test_an_empty_sale_is_at_rest(store: SqliteStore, sale: Sale) -> None:
    """Nobody waits, nothing is due."""
    seen = look(store, sale)

    assert seen is not None
    assert seen.drained
    assert seen.at_rest
    assert (seen.left, seen.taken) == (2, 0)


def test_a_waiting_order_that_fits_is_work(store: SqliteStore, sale: Sale) -> None:
    """Two seats are free and a party of two waits: not drained."""
    store.accept(make_order(1, quantity=2))

    seen = look(store, sale)

    assert seen is not None
    assert (seen.waiting, seen.waiting_that_fit) == (1, 1)
    assert not seen.drained


def test_a_party_that_does_not_fit_waits_in_a_drained_sale(store: SqliteStore, sale: Sale) -> None:
    """Three for two seats: nothing moves any more, but the sale is not at its end."""
    order = make_order(1, quantity=3)
    store.accept(replace(order, demand=(Demand("floor", 3, 0),)))

    seen = look(store, sale)

    assert seen is not None
    assert seen.drained
    assert not seen.at_rest


def test_an_open_duty_is_work(store: SqliteStore, sale: Sale) -> None:
    """An order whose hold has not ended keeps the sale from being drained."""
    store.accept(make_order(1, duties={Duty.HOLD_END: 99_000}))

    seen = look(store, sale)

    assert seen is not None
    assert seen.due == 1
    assert not seen.drained
