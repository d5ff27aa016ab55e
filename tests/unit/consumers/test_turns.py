"""Fair shares between events, limits on rates, and shards that nobody reads."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

import pytest

from consumers.coverage import TELL_S, UNCOVERED_S, Coverage
from consumers.membership import HEARTBEAT_S, MISSED_BEATS, Membership
from consumers.rates import Allowance, Rates
from consumers.roster import Roster, Share
from consumers.tasks import GroupTask, ShardTask, group_tasks, shard_tasks
from consumers.tools import Tools
from consumers.turns import Turns, least_busy_first
from shared.domain.sale import Pool
from tests.builders import make_sale
from tests.fakes.payment import FakePayments
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.consumers.world import World

HOT = [GroupTask("hot", group) for group in range(64)]
SMALL = GroupTask("small", 0)


def test_a_small_sale_has_every_other_turn_beside_a_hot_one() -> None:
    """However many groups a hot sale has, a small one that always has something to do waits for one of them."""
    turns = Turns()

    taken = [turns.next([*HOT, SMALL]) for _ in range(128)]

    assert taken[1::2] == [SMALL] * 64
    assert sorted(task for task in taken[::2] if task is not None) == HOT


def test_a_hot_sale_has_all_turns_while_nobody_else_needs_one() -> None:
    """Its groups take them round about; with nothing due there is none."""
    turns = Turns()

    assert [turns.next(HOT) for _ in HOT] == HOT
    assert turns.next([]) is None


def test_shards_of_the_event_with_the_fewest_orders_under_way_come_first() -> None:
    """Payments of a hot sale leave the next free thread to a small one; within an event the earliest due is next."""
    hot, small = [ShardTask("hot", shard) for shard in range(3)], ShardTask("small", 0)
    due_s = {hot[0]: 3.0, hot[1]: 1.0, hot[2]: 2.0, small: 9.0}

    assert least_busy_first([*hot, small], Counter(hot=40), due_s.__getitem__) == [small, hot[1], hot[2], hot[0]]


def test_an_allowance_never_exceeds_its_rate_and_a_small_burst() -> None:
    """Over ten seconds at 20 a second: what was saved up at first, and 200 more."""
    allowance = Allowance(20)
    taken = 0
    for tenth in range(101):
        left = allowance.left(100 + tenth / 10)
        allowance.spend(left)
        taken += left

    assert 200 <= taken <= 205


def test_what_is_spent_beyond_an_allowance_is_paid_off() -> None:
    """Rejections come in bulk; afterwards there is a pause for them."""
    allowance = Allowance(10)
    allowance.left(100)
    allowance.spend(22)

    assert allowance.left(101) == 0
    assert allowance.next_in_s == pytest.approx(1.05)
    assert allowance.left(102.06) >= 1


def test_an_events_limit_is_shared_by_its_groups() -> None:
    """Four groups of an event limited to 40 a second have 10 each, whoever owns them; another event is its own."""
    sale = make_sale(pools=(Pool("floor", 2_000, 4),))
    other = make_sale(event_id="other")
    rates = Rates(event_per_s=40)
    for group in group_tasks(sale):
        rates.left(sale, group, 100)
        rates.spend(sale, group, 2)

    assert [rates.left(sale, group, 100)[0] for group in group_tasks(sale)] == [0] * 4
    assert [rates.left(sale, group, 100.1)[0] for group in group_tasks(sale)] == [1] * 4
    assert rates.left(other, GroupTask("other", 0), 100)[0] == 10


def test_a_workers_limit_holds_over_all_its_groups() -> None:
    """Whichever group spent it, and the wait for more is told."""
    sale = make_sale()
    rates = Rates(worker_per_s=4)
    rates.left(sale, GroupTask("gig", 0), 100)
    rates.spend(sale, GroupTask("gig", 0), 1)

    assert rates.left(sale, SMALL, 100) == (0, 0.25)


def test_a_pass_holds_no_more_than_it_may() -> None:
    """The oldest are held, the rest stays in line for the next pass."""
    world = World(make_sale(pools=(Pool("floor", 100),)))
    keys = [world.order(at_ms=5_000 + number) for number in range(10)]

    world.office.allocate_once(world.sale, 0, most=3)

    assert [world.seated([key]) for key in keys] == [1] * 3 + [0] * 7
    world.close()


@pytest.fixture
def share() -> Share:
    """Return a share that is the whole of one sale."""
    sale = make_sale()
    return Share({"gig": sale}, tuple(group_tasks(sale)), tuple(shard_tasks(sale)))


def test_shards_that_are_not_read_are_loud(
    share: Share, world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are named in the log as an error and counted, again and again; what is read is not."""
    # A logger of its own: servers that other tests start in this process may have set up the common ones.
    log = logging.Logger("coverage")  # noqa: LOG001 - as the comment says
    log.addHandler(caplog.handler)
    monkeypatch.setattr("consumers.coverage._log", log)
    coverage = Coverage(world.office.tools)
    assert coverage.check(share) == {}
    for _ in range(round(UNCOVERED_S) + 1):
        world.clock.advance(1)
        coverage.read("gig", "line", range(4))
        coverage.read("gig", "timer", [0, 1, 3])

    assert coverage.check(share) == {"gig": 1}
    assert coverage.check(share) == {"gig": 1}
    assert world.seen["shards_uncovered"] == 1
    world.clock.advance(TELL_S)
    coverage.check(share)
    assert [record.__dict__["shards"] for record in caplog.records] == [["timer 2"], ["timer 2"]]
    assert world.seen["shards_uncovered"] == 2


def test_what_has_just_been_taken_over_is_not_late(share: Share, world: World) -> None:
    """Its time counts from the moment it fell to this worker."""
    coverage = Coverage(world.office.tools)
    coverage.check(replace(share, groups=(), shards=()))
    world.clock.advance(10 * UNCOVERED_S)

    assert coverage.check(share) == {}
    world.clock.advance(UNCOVERED_S + 1)
    assert coverage.check(share) == {"gig": 8}


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.95])
def test_a_silent_members_tasks_are_taken_over_within_three_beats_and_a_look(phase: float) -> None:
    """Whatever the phase: at most three heartbeat periods after the others saw its last beat, and one look at that."""
    clock = FakeClock()
    world = World(make_sale(shard_counts=(8,)), clock=clock)
    rosters = []
    for number, name in enumerate(("ann", "bob")):
        tools = Tools(world.store, FakePayments(clock), clock, SeededIds(number))
        rosters.append(Roster(tools, Membership(world.store, clock, name, str(number))))
    for step in range(12):
        rosters[0].refresh()
        if step * 0.25 >= phase:
            rosters[1].refresh()
        clock.advance(0.25)
    assert len(rosters[1].share.shards) < 8

    dies_ms = clock.at_ms
    while len(rosters[1].share.shards) < 8:
        clock.advance(0.25)
        rosters[1].refresh()

    assert clock.at_ms - dies_ms <= 1000 * HEARTBEAT_S * (MISSED_BEATS + 1)
    assert rosters[1].share.groups
    world.close()
