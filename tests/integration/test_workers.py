"""Several workers at a sale: exact, patient with pauses, fair between events, and in order when they stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from consumers.worker import drain, run_worker
from shared.domain.errors import Unavailable
from shared.domain.order import FINAL, SEATED, Status
from shared.domain.sale import Pool
from tests.builders import make_sale
from tests.fakes.payment import CARD, DECLINED_CARD
from tests.integration.town import PATIENCE_S, Town, make_town, wait_until
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import check_invariants

__all__ = ["make_town"]
pytestmark = pytest.mark.timeout(240)


def test_several_workers_finish_a_sale_exactly(make_town: Callable[..., Town]) -> None:
    """Three workers, one of which leaves half-way: every order ends, every seat is sold once."""
    town = make_town(pools=(Pool("floor", 150),), shard_counts=(8,), hold_ttl_s=2, max_per_buyer=2)
    methods = (CARD, CARD, CARD, DECLINED_CARD)
    keys = [town.order(1 + n % 2, method=methods[n % 4], buyer=f"buyer-{n % 200}") for n in range(300)]
    for name in ("ann", "bob", "cid"):
        town.start(name)
    wait_until(lambda: names(town) == {"ann", "bob", "cid"})
    wait_until(lambda: any(order.status is Status.CONFIRMED for order in town.orders()))

    town.stop("bob")
    assert names(town) == {"ann", "cid"}
    wait_until(lambda: all(order.status in FINAL for order in town.orders()))

    check_invariants(town)
    assert len(town.orders()) == len(keys)
    assert town.pool().left == 0
    assert town.pool().sold_out


def names(town: Town) -> set[str]:
    """Return the names of the workers that are in."""
    return {member.name for member in town.store.members()}


class Pausing(Cutter):
    """Stops every call of one worker at its third charge, as SIGSTOP would, until it is woken."""

    def __init__(self) -> None:
        super().__init__()
        self.charges = 0
        self.asleep = threading.Event()
        self.wake = threading.Event()

    def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        self.charges += name == "pay"
        if self.charges >= 3:
            self.asleep.set()
            self.wake.wait(PATIENCE_S)
        return super().call(name, function, args, options)


def test_q1_a_worker_that_pauses_in_the_middle_of_a_batch(make_town: Callable[..., Town]) -> None:
    """Q1: a worker stops dead at a charge and comes back long after another took over: one effect an order."""
    town = make_town(pools=(Pool("floor", 20),), hold_ttl_s=2)
    keys = [town.order() for _ in range(10)]
    pausing = Pausing()
    town.start("sleeper", payment_threads=2, cutter=pausing)
    assert pausing.asleep.wait(PATIENCE_S)

    town.start("other")
    wait_until(lambda: all(town.status(key) in FINAL for key in keys))
    before = town.statuses(keys)
    pausing.wake.set()
    town.stop("sleeper")

    assert town.statuses(keys) == before
    check_invariants(town)


def test_slow_payments_stop_nothing_but_payments(make_town: Callable[..., Town]) -> None:
    """While every payment call hangs, orders still get their seats."""
    town = make_town(pools=(Pool("floor", 100),))
    answer = threading.Event()

    def hang(_name: str) -> None:
        answer.wait(PATIENCE_S)

    town.payments.before = hang
    keys = [town.order() for _ in range(100)]
    town.start("ann", payment_threads=2)

    wait_until(lambda: town.seated(keys) == 100)
    assert town.statuses(keys) == {Status.HELD: 100}
    answer.set()
    wait_until(lambda: town.statuses(keys) == {Status.CONFIRMED: 100})

    check_invariants(town)


def test_a_hot_sale_does_not_starve_a_small_one(make_town: Callable[..., Town]) -> None:
    """While hundreds wait at one event, an order for another one is served at once."""
    hot = make_town(pools=(Pool("floor", 600),), shard_counts=(4,))
    small_sale = make_sale(
        event_id="small", opens_at_ms=hot.sale.opens_at_ms, closes_at_ms=hot.sale.closes_at_ms, shard_counts=(2,)
    )
    hot.store.create_sale(small_sale)
    hot.store.open_inventory(small_sale)
    keys = [hot.order() for _ in range(600)]
    big, hot.sale = hot.sale, small_sale
    small = hot.order()
    hot.sale = big
    hot.start("ann")

    wait_until(lambda: hot.status(small) in SEATED and hot.seated(keys) == 600)

    # By the orders' own times: who looks may come late.
    seated_ms = hot.get(small).held_at_ms or 0
    assert any((hot.get(key).held_at_ms or 0) > seated_ms for key in keys[-100:])


def test_a_hot_sales_payments_leave_threads_to_a_small_one(make_town: Callable[..., Town]) -> None:
    """While hundreds of held orders wait for a slow payment service, another event's order is paid."""
    hot = make_town(pools=(Pool("floor", 600),), shard_counts=(4,))
    small_sale = make_sale(
        event_id="small", opens_at_ms=hot.sale.opens_at_ms, closes_at_ms=hot.sale.closes_at_ms, shard_counts=(2,)
    )
    hot.store.create_sale(small_sale)
    hot.store.open_inventory(small_sale)

    placed = threading.Event()

    def linger(_name: str) -> None:
        placed.wait(PATIENCE_S)
        threading.Event().wait(0.02)

    hot.payments.before = linger
    keys = [hot.order() for _ in range(600)]
    hot.start("ann")
    wait_until(lambda: hot.seated(keys[:200]) == 200)
    big, hot.sale = hot.sale, small_sale
    small = hot.order()
    hot.sale = big
    placed.set()

    wait_until(lambda: hot.status(small) is Status.CONFIRMED)

    # By the payment service's own order: who looks may come late.
    assert list(hot.payments.captures).index(f"pi_{small.order_id}") < 600


def test_a_drain_ends_when_nothing_is_left_to_do(make_town: Callable[..., Town]) -> None:
    """A scheduled worker does all there is, says so, and leaves."""
    town = make_town(pools=(Pool("floor", 50),))
    keys = [town.order() for _ in range(40)]

    assert drain(town.tools(), "lambda", deadline_s=PATIENCE_S, quiet_s=4.0)

    assert town.statuses(keys) == {Status.CONFIRMED: 40}
    assert town.store.members() == ()
    check_invariants(town)


def test_a_drain_stops_at_its_deadline(make_town: Callable[..., Town]) -> None:
    """A drain that is not through at its deadline says so; the rest stays due."""
    town = make_town(pools=(Pool("floor", 50),))

    def linger(_name: str) -> None:
        threading.Event().wait(0.1)

    town.payments.before = linger
    keys = [town.order() for _ in range(40)]

    assert not drain(town.tools(), "lambda", deadline_s=0.5, payment_threads=1)

    assert town.statuses(keys)[Status.CONFIRMED] < 40
    check_invariants(town)


def test_a_store_out_of_reach_is_said_at_the_start(make_town: Callable[..., Town]) -> None:
    """A worker that cannot reach its store does not pretend to work."""
    town = make_town()
    town.store.close()

    with pytest.raises(Unavailable):
        run_worker(town.tools(), "ann", threading.Event())
