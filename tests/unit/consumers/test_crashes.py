"""Q2: a worker dies at every single call, before it or after it took effect; another one goes on.

Nothing is lost, nothing happens twice, and nobody is needed to repair anything.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain import transitions
from shared.domain.order import FINAL, Status
from shared.domain.sale import Pool, SaleStatus
from shared.ports.payment import IntentStatus
from tests.builders import make_sale
from tests.fakes.payment import CARD, DECLINED_CARD, SLOW_CARD
from tests.unit.consumers.crashing import Cutter, PowerCut
from tests.unit.consumers.world import World, check_invariants

METHODS = (CARD, CARD, CARD, DECLINED_CARD, SLOW_CARD, None)
# More calls than the short scenes make; a cut beyond the last call is a run without one.
MOST_CALLS = 150


def _office(world: World, cutter: Cutter) -> None:
    world.office = world.new_office(store=cutter.store(world.store), gateway=cutter.gateway(world.payments))


def _crash(world: World, cutter: Cutter, seconds: float) -> bool:
    """Run until the power cut; return whether it came."""
    _office(world, cutter)
    try:
        world.run(seconds, step_s=2)
    except PowerCut:
        return True
    return False


def _small_sale(seats: int = 4) -> World:
    world = World(make_sale(pools=(Pool("floor", seats),), shard_counts=(2,), hold_ttl_s=20, max_per_buyer=3))
    for quantity, method in ((1, CARD), (2, None), (1, DECLINED_CARD), (1, CARD)):
        world.order(quantity, method=method)
    world.order(4, buyer="greedy")
    return world


def _finish(world: World) -> None:
    """Let a fresh worker run until every order has its end, banks deciding now and then what is under way."""
    world.office = world.new_office()
    for _ in range(6):
        world.run(60, step_s=5)
        for order in world.orders():
            intent = world.payments.intent(order.key.order_id)
            if intent is not None and intent.status is IntentStatus.PROCESSING:
                world.payments.finish(order.key.order_id, paid=order.key.shard == 0)
    world.run(130, step_s=10)
    world.change_sale(world.sale.changed(SaleStatus.CLOSED))
    world.run(30, step_s=3)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_q2_a_power_cut_at_every_call_loses_nothing(after: bool) -> None:
    """Q2: for every call that one small sale makes, a run that is cut there ends like the others."""
    cut_at, cut = 0, True
    names: Counter[str] = Counter()
    while cut:
        cut_at += 1
        world = _small_sale()
        cutter = Cutter(cut_at, after=after)
        cut = _crash(world, cutter, 30)
        names[cutter.log[-1]] += 1
        check_invariants(world)
        _finish(world)
        check_invariants(world)
        statuses = Counter(order.status for order in world.orders())
        assert statuses == {Status.CONFIRMED: 2, Status.EXPIRED: 2, Status.REJECTED: 1}, (cut_at, cutter.log[-3:])
        world.close()

    assert cut_at > 50
    assert {"hold_batch", "get_order", "save", "release", "open_intent", "pay", "close_intent"} <= set(names)


@settings(max_examples=30)
@given(data=st.data())
def test_q2_power_cuts_one_after_another(data: st.DataObject) -> None:
    """Q2: workers die again and again, two at a time, at any call, with trouble between; the sale ends exactly."""
    slices = data.draw(st.sampled_from([1, 2]), label="slices")
    limit = data.draw(st.sampled_from([None, 2]), label="limit")
    seats = data.draw(st.integers(1, 8), label="seats")
    sale = make_sale(pools=(Pool("floor", seats, slices),), shard_counts=(3,), hold_ttl_s=20, max_per_buyer=limit)
    with closing(World(sale)) as world:
        orders = data.draw(
            st.lists(
                st.tuples(st.integers(1, 3), st.sampled_from(METHODS), st.integers(1, 4)), min_size=1, max_size=10
            ),
            label="orders",
        )
        for quantity, method, buyer in orders:
            world.order(quantity, method=method, buyer=f"buyer-{buyer}")
        cuts = st.tuples(st.integers(1, MOST_CALLS), st.booleans(), st.sampled_from([0, 0, 5, 7]))
        for cut_at, after, trouble_every in data.draw(st.lists(cuts, min_size=1, max_size=4), label="cuts"):
            _crash(world, Cutter(cut_at, after=after, trouble_every=trouble_every), 12)
            check_invariants(world)

        _finish(world)

        check_invariants(world)
        statuses = Counter(order.status for order in world.orders())
        assert set(statuses) <= FINAL, statuses


@pytest.mark.parametrize("lost", ["hold_batch", "save", "release", "draw", "give_back", "pay", "close_intent"])
def test_q8_an_answer_lost_is_recognised(lost: str) -> None:
    """Q8: the call was carried out and its answer was lost, every time: each effect stands once."""
    world = _small_sale()

    class Losing(Cutter):
        def call(self, name: str, *rest: object) -> object:
            self.trouble_every = 3 if name == lost else 0
            self.calls = 8 if name == lost else 0
            return super().call(name, *rest)  # type: ignore[arg-type] # passed through

    _office(world, Losing())

    world.run(60)

    check_invariants(world)
    assert world.statuses([order.key for order in world.orders()])[Status.CONFIRMED] == 2
    world.close()


def test_p1_killed_between_charge_and_save() -> None:
    """P1: the charge succeeded and the worker died before it wrote: the next one finds the charge."""
    world = World(make_sale())
    key = world.order()
    world.allocate()

    def cut(name: str) -> None:
        if name == "pay":
            raise PowerCut

    world.payments.after = cut
    with pytest.raises(PowerCut):
        world.sweep()
    world.payments.after = lambda _: None
    assert world.status(key) is Status.HELD

    world.run(3, office=world.new_office())

    assert world.status(key) is Status.CONFIRMED
    assert world.payments.captures == {f"pi_{key.order_id}": 1}
    check_invariants(world)
    world.close()


def test_a_killed_ending_is_finished_by_another() -> None:
    """The intent was closed and the worker died before it gave the seats back: the next one gives them back."""
    world = World(make_sale(pools=(Pool("floor", 1),)))
    key = world.order(method=None)
    world.run(2)
    order = world.get(key)
    wish = transitions.ask_to_cancel(order, op="wish", now_ms=world.clock.now_ms())
    world.store.save(wish, seen_rev=order.rev)
    cutter = Cutter()
    _office(world, cutter)

    def cut(name: str) -> None:
        if name == "close_intent":
            raise PowerCut

    world.payments.after = cut
    with pytest.raises(PowerCut):
        world.sweep()
    world.payments.after = lambda _: None

    world.run(3, office=world.new_office())

    assert world.status(key) is Status.CANCELLED
    assert world.pool().left == 1
    check_invariants(world)
    world.close()
