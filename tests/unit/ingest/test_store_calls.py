"""What an order costs at the store."""

from __future__ import annotations

from collections import Counter

from shared.stores.faults import FaultyStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client


def test_an_order_costs_one_write(ann: Client, store: FaultyStore, clock: FakeClock) -> None:
    """Over ten seconds of orders: one conditional write each, one control read a second, nothing else."""
    replies = []
    for number in range(500):
        replies.append(ann.order(key=f"k{number}"))
        clock.advance(0.02)

    assert {reply.status for reply in replies} == {202}
    assert store.calls == Counter(accept=500, get_sale=10)


def test_a_repeat_costs_the_same(ann: Client, store: FaultyStore) -> None:
    """The conditional write itself returns the first attempt."""
    for _ in range(3):
        ann.order(key="a")

    assert store.calls == Counter(accept=3, get_sale=1)


def test_a_look_costs_one_read(ann: Client, store: FaultyStore) -> None:
    """A buyer who polls costs one consistent read of one item."""
    where = ann.order().headers["Location"]
    store.calls.clear()
    for _ in range(20):
        assert ann.ask("GET", where).status == 200

    assert store.calls == Counter(get_order=20)


def test_what_is_refused_costs_nothing(ann: Client, store: FaultyStore) -> None:
    """Bodies that break a rule are refused without a write; without a key even without a look."""
    ann.order()
    store.calls.clear()
    ann.order(0)
    ann.order(11)
    ann.ask("POST", "/v1/events/gig/orders", raw="{")
    ann.order(key="a,b")

    assert store.calls == Counter()


def test_health_is_asked_once_a_second(ann: Client, store: FaultyStore, clock: FakeClock) -> None:
    """However often a load balancer comes."""
    for _ in range(300):
        assert ann.ask("GET", "/healthz").status == 200
        clock.advance(0.01)

    assert store.calls == Counter(get_sale=3)
