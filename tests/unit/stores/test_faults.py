"""The store that fails on demand does exactly what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.domain.errors import AnswerLost, Contended, Throttled, Unavailable
from shared.domain.order import Lane
from shared.retry import Attempt, Retrier
from shared.stores.faults import Chance, Fault, FaultyStore, Script
from shared.stores.retrying import RetryingStore
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order, make_sale
from tests.contract.steps import FOREVER_MS, all_due, all_orders, batch_of, order_on, queue, sale_of
from tests.fakes.system import FakeClock, SeededIds


@pytest.fixture
def inner() -> Iterator[SqliteStore]:
    """Open a store in memory."""
    store = SqliteStore(None, FakeClock())
    yield store
    store.close()


@pytest.mark.parametrize(
    ("fault", "error", "applied"),
    [
        (Fault.THROTTLED, Throttled, False),
        (Fault.CONTENDED, Contended, False),
        (Fault.UNAVAILABLE, Unavailable, False),
        (Fault.LOST_BEFORE, AnswerLost, False),
        (Fault.LOST_AFTER, AnswerLost, True),
    ],
)
def test_a_script_lets_the_named_call_fail(
    inner: SqliteStore, fault: Fault, error: type[Unavailable], applied: bool
) -> None:
    """The second accept fails as written, the others do not; only a late loss was applied."""
    store = FaultyStore(inner, Script({("accept", 2): fault}))

    store.accept(make_order(1))
    with pytest.raises(error):
        store.accept(make_order(2))
    store.accept(make_order(3))

    assert (inner.get_order(make_order(2).key) is not None) == applied
    assert store.calls["accept"] == 3
    assert store.faults == {fault: 1}


def test_a_throttle_speaks_as_the_service_does(inner: SqliteStore) -> None:
    """It names the table or index, read or write, and what was exceeded."""
    store = FaultyStore(inner, Script({("due", 1): Fault.THROTTLED, ("accept", 2): Fault.THROTTLED}), table="t")

    with pytest.raises(Throttled) as read:
        store.due("gig", 0, Lane.LINE, until_ms=1, limit=1)
    store.accept(make_order(1))
    with pytest.raises(Throttled) as write:
        store.accept(make_order(2))

    assert (read.value.reason, read.value.resource) == (
        "IndexReadProvisionedThroughputExceeded",
        "table/t/index/work",
    )
    assert (write.value.reason, write.value.resource) == ("TableWriteAccountLimitExceeded", "table/t")


def test_a_script_that_cannot_be_is_refused(inner: SqliteStore) -> None:
    """A read has no conflict, and only the index has hints."""
    store = FaultyStore(inner, Script({("get_order", 1): Fault.CONTENDED, ("accept", 1): Fault.HINTS_LATE}))

    with pytest.raises(ValueError, match="cannot happen"):
        store.get_order(make_order().key)
    with pytest.raises(ValueError, match="cannot happen"):
        store.accept(make_order())


def lined_up(inner: SqliteStore, *faults: tuple[int, Fault]) -> FaultyStore:
    """Put four orders into one line, before an index that fails at the named calls of `due`."""
    for number in range(4):
        inner.accept(order_on(0, f"order-{number}", at_ms=number))
    return FaultyStore(inner, Script({("due", call): fault for call, fault in faults}))


def seen(store: FaultyStore, limit: int = 10) -> list[int]:
    """Ask once for the head of the line."""
    return [hint.at_ms for hint in store.due("gig", 0, Lane.LINE, until_ms=FOREVER_MS, limit=limit).hints]


def test_a_late_index_shows_what_it_showed_before(inner: SqliteStore) -> None:
    """New orders are missing and one that is done still stands; the next answer is right."""
    store = lined_up(inner, (2, Fault.HINTS_LATE))
    assert seen(store) == [0, 1, 2, 3]
    inner.open_inventory(sale_of(10))
    inner.hold_batch(batch_of([order_on(0, "order-0", at_ms=0)]))
    inner.accept(order_on(0, "order-9", at_ms=9))

    assert seen(store) == [0, 1, 2, 3]
    assert seen(store) == [1, 2, 3, 9]


def test_an_index_late_from_the_beginning_lacks_the_newest(inner: SqliteStore) -> None:
    """Half of the page has not arrived yet."""
    assert seen(lined_up(inner, (1, Fault.HINTS_LATE))) == [0, 1]


def test_hints_come_twice_or_out_of_order(inner: SqliteStore) -> None:
    """The page is no longer than was asked for."""
    store = lined_up(inner, (1, Fault.HINTS_REPEATED), (2, Fault.HINTS_REORDERED), (3, Fault.HINTS_REPEATED))

    assert seen(store) == [0, 0, 1, 2, 3]
    assert seen(store) == [3, 2, 1, 0]
    assert seen(store, limit=3) == [0, 0, 1]


def test_short_and_empty_pages_lead_on(inner: SqliteStore) -> None:
    """Following the cursor still shows everything once, from the line and from the shard."""
    store = lined_up(inner, (1, Fault.EMPTY_PAGE), (2, Fault.SHORT_PAGE), (3, Fault.EMPTY_PAGE))
    assert [hint.at_ms for hint in all_due(store, 0, Lane.LINE, page=4)] == [0, 1, 2, 3]
    assert store.calls["due"] == 4

    store = FaultyStore(inner, Script({("list_orders", 1): Fault.EMPTY_PAGE, ("list_orders", 2): Fault.SHORT_PAGE}))
    assert len(all_orders(store, 0, page=4)) == 4


def test_chance_repeats_with_its_seed(inner: SqliteStore) -> None:
    """The same seed gives the same faults, near their rates, and none that does not fit."""
    rates = {Fault.THROTTLED: 0.2, Fault.CONTENDED: 0.2, Fault.HINTS_LATE: 0.2}

    def thrown(method: str) -> list[Fault | None]:
        chance = Chance(SeededIds(3), rates)
        return [chance.fault(method, call) for call in range(1_000)]

    assert thrown("due") == thrown("due")
    assert 150 < thrown("save").count(Fault.CONTENDED) < 250
    assert set(thrown("save")) == {None, Fault.THROTTLED, Fault.CONTENDED}
    assert set(thrown("due")) == {None, Fault.THROTTLED, Fault.HINTS_LATE}


def test_a_lost_answer_is_recovered_by_repeating(inner: SqliteStore) -> None:
    """Accept, hold and draw lose their answers after they were applied; repeated, each has counted once."""
    attempts: list[Attempt] = []
    clock = FakeClock()
    script = Script({(method, 1): Fault.LOST_AFTER for method in ("accept", "hold_batch", "draw")})
    store = RetryingStore(
        FaultyStore(inner, script), Retrier(clock, SeededIds(), clock.advance, observe=attempts.append)
    )
    sale = sale_of(20, slices=2)
    store.open_inventory(sale)

    order = make_order(4, op="op-1")
    assert store.accept(order).created
    assert store.hold_batch(batch_of([order])).held
    assert store.draw("gig", "floor", 0, 3, op="op-2")

    pool = store.get_pool(sale, "floor")
    assert (pool.unassigned, pool.slices[0].unsold, pool.taken) == (7, 7, 1)
    assert [(a.method, a.place, a.outcome) for a in attempts if a.outcome != "ok"] == [
        ("accept", "gig#0", "answer-lost"),
        ("hold_batch", "gig/floor/0", "answer-lost"),
        ("draw", "gig/floor", "answer-lost"),
    ]


def test_every_method_passes_through_the_gate(inner: SqliteStore) -> None:
    """No call of the port slips by unseen."""
    store = FaultyStore(inner, Script({}))
    store.create_sale(make_sale())
    queue(inner, 1)

    public = {name for name in dir(type(inner)) if not name.startswith("_")}
    not_of_the_port = {"stream_shards", "read_changes", "split_stream_shard", "redeliver", "trim_changes"}
    wrapped = {name for name in vars(type(store).__mro__[1]) if not name.startswith("_")}
    assert wrapped == public - not_of_the_port
