"""A buyer wants out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ingest.process import build_app
from shared.domain.order import Duty, Order, PaymentState, Reason, Status
from shared.domain.order_id import locate_order
from shared.domain.transitions import confirm, hold, reject
from shared.ports.orders import Saved
from shared.stores.faults import Fault, FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.unit.ingest.client import Client, Reply
from tests.unit.ingest.conftest import MakeParts


def _order(store: SqliteStore, reply: Reply) -> Order:
    order = store.get_order(locate_order("gig", reply.json["order_id"], (4,)))
    assert order is not None
    return order


def _held(store: SqliteStore, reply: Reply) -> Order:
    order = _order(store, reply)
    after = hold(order, op="h", now_ms=10_000, hold_ends_at_ms=70_000, slices={"floor": 0})
    assert store.save(after, seen_rev=order.rev).done
    return after


def test_an_order_in_line_is_cancelled_at_once(ann: Client, inner: SqliteStore) -> None:
    """Queued: 200, and it stands in no line any more; again: 200 without a write."""
    placed = ann.order()

    first = ann.ask("DELETE", placed.headers["Location"])
    rev = _order(inner, placed).rev
    again = ann.ask("DELETE", placed.headers["Location"])

    assert (first.status, first.json["status"]) == (200, "cancelled")
    assert (again.status, _order(inner, placed).rev) == (200, rev)
    assert _order(inner, placed).work is None


def test_a_hold_is_not_given_back_by_the_door(ann: Client, inner: SqliteStore) -> None:
    """Held: 202, the wish is stored, seats stay until a worker has closed the payment; again: no further write."""
    placed = ann.order()
    _held(inner, placed)

    first = ann.ask("DELETE", placed.headers["Location"])
    stored = _order(inner, placed)
    again = ann.ask("DELETE", placed.headers["Location"])

    assert (first.status, first.json["status"]) == (202, "held")
    assert (stored.status, stored.duties[Duty.CLOSE]) == (Status.HELD, 10_000)
    assert stored.duties[Duty.HOLD_END] == 70_000
    assert (again.status, _order(inner, placed).rev) == (202, stored.rev)


def test_what_is_paid_is_not_cancelled_this_way(ann: Client, inner: SqliteStore) -> None:
    """Confirmed: 409, nothing changes."""
    placed = ann.order()
    held = _held(inner, placed)
    paid = replace(held.payment, state=PaymentState.PAID, captured_minor=2_500)
    inner.save(confirm(held, paid, op="c", now_ms=1, tickets=("t",)), seen_rev=held.rev)

    reply = ann.ask("DELETE", placed.headers["Location"])

    assert (reply.status, reply.problem) == (409, "order-confirmed")
    assert _order(inner, placed).status is Status.CONFIRMED


def test_what_ended_otherwise_says_so(ann: Client, inner: SqliteStore) -> None:
    """Rejected: 409, for there was never anything to cancel."""
    placed = ann.order()
    order = _order(inner, placed)
    inner.save(reject(order, op="r", now_ms=1, reason=Reason.SOLD_OUT), seen_rev=order.rev)

    assert ann.ask("DELETE", placed.headers["Location"]).problem == "order-rejected"


class _Racing(FaultyStore):
    """Holds the order between the door's read and its write, as a worker would, `races` times."""

    races = 1

    def save(self, order: Order, *, seen_rev: int) -> Saved:
        if self.races:
            self.races -= 1
            stands = self._inner.get_order(order.key)
            assert stands is not None
            other = (
                hold(stands, op="h", now_ms=1, hold_ends_at_ms=70_000, slices={"floor": 0})
                if stands.status is Status.QUEUED
                else replace(stands, rev=stands.rev + 1, op=f"race-{self.races}")
            )
            self._inner.save(other, seen_rev=stands.rev)
        return super().save(order, seen_rev=seen_rev)


@pytest.fixture
def store(inner: SqliteStore) -> FaultyStore:
    """Return a store in which a worker may be faster."""
    store = _Racing(inner, Script({}))
    store.races = 0
    return store


def test_a_worker_that_was_faster_changes_the_answer(ann: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """Queued when read, held when written: the wish is stored instead, and the hold is not lost."""
    assert isinstance(store, _Racing)
    placed = ann.order()
    store.races = 1

    reply = ann.ask("DELETE", placed.headers["Location"])

    assert (reply.status, reply.json["status"]) == (202, "held")
    assert Duty.CLOSE in _order(inner, placed).duties


def test_whoever_loses_every_race_tries_later(ann: Client, store: FaultyStore) -> None:
    """A bounded number of tries, then 503."""
    assert isinstance(store, _Racing)
    placed = ann.order()
    store.races = 100

    assert ann.ask("DELETE", placed.headers["Location"]).status == 503
    assert store.races == 95


def test_a_lost_answer_is_recognised(parts_over: MakeParts, inner: SqliteStore) -> None:
    """The store cancelled, the answer was lost: the repeat finds its own work and the buyer reads 200."""
    lossy = FaultyStore(inner, Script({("save", 1): Fault.LOST_AFTER}))
    ann = Client(build_app(parts_over(lossy)), "ann", "buy")
    placed = ann.order()

    assert ann.ask("DELETE", placed.headers["Location"]).json["status"] == "cancelled"
    assert lossy.calls["save"] == 2


def test_cancel_and_buy_again_are_two_orders(ann: Client, inner: SqliteStore) -> None:
    """A new key after a cancelled order is a new order; the old key still names the cancelled one."""
    placed = ann.order(key="a")
    ann.ask("DELETE", placed.headers["Location"])

    assert ann.order(key="a").json["status"] == "cancelled"
    assert ann.order(key="b").json["status"] == "queued"
