"""Accepting, reading and saving one order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.order import (
    Demand,
    Duty,
    Line,
    Order,
    Parked,
    Payment,
    PaymentState,
    Reason,
    Seats,
    Status,
)
from shared.domain.taken import Taken
from shared.domain.trouble import Trouble, TroubleKind
from shared.ports.orders import Saved
from shared.ports.store import Store
from tests.builders import make_order
from tests.contract.kinds import StoreKind
from tests.contract.steps import stored


def full_order() -> Order:
    """Make an order in which every field has a value."""
    return replace(
        make_order(7, quantity=3),
        lines=(Line("standing", 2, 2_500), Line("gallery", 1, 4_000)),
        demand=(Demand("floor", 2, 1), Demand("seats", 1, 0)),
        holder="Zoë 🎟️",
        status=Status.CONFIRMED,
        reason=Reason.REFUNDED_BY_STAFF,
        rev=9,
        op="op-9",
        updated_at_ms=12_345,
        held_at_ms=11_000,
        seats=(Seats("floor", 3, 2), Seats("seats", 0, 1)),
        payment=Payment("pm_1", 2, PaymentState.PAID, "pi_1", "secret", "card_declined", 9_000, 100, 50),
        duties={Duty.REFUND: 13_000, Duty.FULFIL: 14_000},
        tickets=("T-1", "T-2", "T-3"),
        failures=2,
        parked=Parked(15_000, "it failed", "refund", Taken("op-7", 16_000)),
        history=(Trouble(14_000, TroubleKind.FAILED, "refund", "it failed"),),
        taken=Taken("op-8", 12_000, done=True),
        superseded_by="2-" + "0" * 32,
    )


@pytest.mark.parametrize("order", [make_order(op="op-1"), full_order()], ids=["plain", "full"])
def test_an_accepted_order_is_read_back_as_it_was(store: Store, order: Order) -> None:
    """Every field comes back, and the answer says that this call stored it."""
    answer = store.accept(order)

    assert (answer.order, answer.created) == (order, True)
    assert store.get_order(order.key) == order


def test_an_unknown_order_reads_as_none(store: Store) -> None:
    """Nothing is stored under a key until it is accepted."""
    assert store.get_order(make_order().key) is None


def test_a_second_order_under_one_key_meets_the_first(store: Store) -> None:
    """The order that stands is returned and stays as it is."""
    first = make_order(1, op="op-1")
    store.accept(first)

    answer = store.accept(make_order(1, quantity=2, op="op-2"))

    assert (answer.order, answer.created) == (first, False)
    assert stored(store, first) == first


def test_a_repeated_accept_knows_its_own_work(store: Store) -> None:
    """The same operation repeated counts as the one that stored the order."""
    order = make_order(1, op="op-1")
    store.accept(order)

    assert store.accept(order).created


def test_orders_without_an_operation_do_not_pass_for_each_other(store: Store) -> None:
    """An empty `op` is nobody's."""
    store.accept(make_order(1))

    assert not store.accept(make_order(1)).created
    assert not store.save(make_order(1), seen_rev=5).done


def test_of_parallel_accepts_of_one_key_one_creates(store: Store, kind: StoreKind) -> None:
    """All are answered with the same order."""
    if not kind.parallel:
        pytest.skip("this emulator is wrong under threads")
    orders = [make_order(1, fingerprint=f"print-{number}", op=f"op-{number}") for number in range(16)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(store.accept, orders))

    assert sum(answer.created for answer in answers) == 1
    assert len({answer.order.fingerprint for answer in answers}) == 1


def test_a_save_replaces_the_version_that_was_seen(store: Store) -> None:
    """The new version is stored and returned."""
    order = make_order()
    store.accept(order)
    cancelled = transitions.cancel_queued(order, op="op-1", now_ms=3_000)

    assert store.save(cancelled, seen_rev=order.rev) == Saved(cancelled, done=True)
    assert stored(store, order) == cancelled


def test_a_save_loses_the_race_to_another_writer(store: Store) -> None:
    """The other's version is returned and stays."""
    order = make_order()
    store.accept(order)
    first = transitions.cancel_queued(order, op="op-1", now_ms=3_000)
    store.save(first, seen_rev=order.rev)

    late = transitions.reject(order, op="op-2", now_ms=3_000, reason=Reason.SOLD_OUT)

    assert store.save(late, seen_rev=order.rev) == Saved(first, done=False)
    assert stored(store, order) == first


def test_a_repeated_save_knows_its_own_work(store: Store) -> None:
    """A stored `op` equal to the writer's own counts as done."""
    order = make_order()
    store.accept(order)
    cancelled = transitions.cancel_queued(order, op="op-1", now_ms=3_000)
    store.save(cancelled, seen_rev=order.rev)

    assert store.save(cancelled, seen_rev=order.rev) == Saved(cancelled, done=True)


def test_a_repeated_save_is_lost_once_somebody_wrote_on_top(store: Store) -> None:
    """The later version is returned, so that the writer sees what became of its own."""
    order = make_order()
    store.accept(order)
    noted = transitions.look_now(order, op="op-1", now_ms=3_000)
    store.save(noted, seen_rev=1)
    on_top = transitions.look_now(noted, op="op-2", now_ms=4_000)
    store.save(on_top, seen_rev=2)

    assert store.save(noted, seen_rev=1) == Saved(on_top, done=False)


def test_saving_what_was_never_accepted_stores_nothing(store: Store) -> None:
    """The answer has no order, and none appears."""
    order = make_order(op="op-1", rev=2)

    assert store.save(order, seen_rev=1) == Saved(None, done=False)
    assert store.get_order(order.key) is None


def test_of_parallel_saves_of_one_version_one_is_done(store: Store, kind: StoreKind) -> None:
    """The others are told the winner's version."""
    if not kind.parallel:
        pytest.skip("this emulator is wrong under threads")
    order = make_order()
    store.accept(order)
    versions = [transitions.look_now(order, op=f"op-{number}", now_ms=3_000) for number in range(16)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda version: store.save(version, seen_rev=1), versions))

    assert sum(answer.done for answer in answers) == 1
    assert {answer.order.op for answer in answers if answer.order} == {stored(store, order).op}
