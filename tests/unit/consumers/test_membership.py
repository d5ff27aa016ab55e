"""Who lives, who does what, and how that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from consumers.membership import MISSED_BEATS, Membership
from shared.domain.rendezvous import owner
from shared.ports.store import Store
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock

TASKS = [f"group#gig#{number}" for number in range(1_000)]


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that stands still."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[Store]:
    """Return an empty store."""
    store = SqliteStore(None, clock)
    yield store
    store.close()


def _join(store: Store, clock: FakeClock, name: str, incarnation: str = "1") -> Membership:
    member = Membership(store, clock, name, incarnation)
    member.tick()
    return member


def test_members_see_each_other(store: Store, clock: FakeClock) -> None:
    """After one heartbeat every member knows every other one."""
    members = [_join(store, clock, name) for name in ("ann", "bob", "cid")]
    clock.advance(1)

    assert all(member.tick() for member in members)

    assert {member.live() for member in members} == {("ann", "bob", "cid")}


def test_a_member_that_stopped_beating_is_gone_after_three_periods(store: Store, clock: FakeClock) -> None:
    """The observer's own clock decides, from when the beat last moved."""
    _join(store, clock, "dead")
    ann = _join(store, clock, "ann")
    for _ in range(MISSED_BEATS - 1):
        clock.advance(1)
        ann.tick()
        assert "dead" in ann.live()

    clock.advance(1)

    assert ann.live() == ("ann",)


def test_a_restarted_name_lives_at_once(store: Store, clock: FakeClock) -> None:
    """A new incarnation counts as a movement, though its beat begins at one again."""
    _join(store, clock, "bob", "1")
    ann = _join(store, clock, "ann")
    clock.advance(10)
    ann.tick()
    assert ann.live() == ("ann",)

    _join(store, clock, "bob", "2")
    clock.advance(1)
    ann.tick()

    assert ann.live() == ("ann", "bob")


def test_the_predecessors_goodbye_does_not_remove_its_successor(store: Store, clock: FakeClock) -> None:
    """An old process that ends late leaves the new one of its name in place."""
    old = _join(store, clock, "bob", "1")
    _join(store, clock, "bob", "2")

    old.leave()

    assert [(member.name, member.incarnation) for member in store.members()] == [("bob", "2")]


def test_who_leaves_is_gone_with_the_next_look(store: Store, clock: FakeClock) -> None:
    """A clean leave costs one look, not three missed beats."""
    ann, bob = _join(store, clock, "ann"), _join(store, clock, "bob")
    clock.advance(1)
    ann.tick()

    bob.leave()
    clock.advance(1)
    ann.tick()

    assert ann.live() == ("ann",)


def test_a_heartbeat_is_one_write_a_period(store: Store, clock: FakeClock) -> None:
    """Looking more often than once a period costs nothing."""
    ann = _join(store, clock, "ann")

    beats = []
    for _ in range(20):
        clock.advance(0.25)
        beats.append(ann.tick())

    assert sum(beats) == 5


def test_tasks_are_spread_evenly_and_move_little() -> None:
    """With a member more only about its own share moves, and all of that to it."""
    before = {task: owner(task, ("ann", "bob", "cid")) for task in TASKS}
    after = {task: owner(task, ("ann", "bob", "cid", "dan")) for task in TASKS}

    assert all(250 < count < 420 for count in Counter(before.values()).values())
    assert {after[task] for task in TASKS if after[task] != before[task]} == {"dan"}
