"""Yielding to the door, and looking as often as there is something to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from consumers.pace import Pace, Poll, full_jitter
from consumers.steps import BackOffice
from shared.domain.errors import Throttled
from shared.domain.order import Lane
from shared.domain.sale import Pool
from shared.ports import HoldBatch
from tests.fakes.system import SeededIds
from tests.unit.consumers.crashing import Cutter
from tests.unit.consumers.world import World

MakeWorld = Callable[..., World]


def test_a_batch_that_was_mostly_done_halves_the_next_and_gives_way() -> None:
    """More than half done already: a jittered second of rest, half the batch, then small steps back."""
    pace = Pace(SeededIds(), 48)

    pace.note(100.0, tried=10, gone=6)

    assert pace.size == 24
    assert 100.5 <= pace.rests_until_s <= 101.5
    sizes = []
    for _ in range(7):
        pace.note(102.0, tried=10, gone=5)
        sizes.append(pace.size)
    assert sizes == [28, 32, 36, 40, 44, 48, 48]


def test_rests_are_jittered() -> None:
    """Workers that gave way together do not come back together."""
    ends = set()
    for seed in range(20):
        pace = Pace(SeededIds(seed), 48)
        pace.give_way(0.0)
        ends.add(round(pace.rests_until_s, 3))

    assert len(ends) > 15


def test_a_poll_slows_down_while_nothing_is_found() -> None:
    """Idle looks double their distance up to a bound; one find brings the busy pace back."""
    poll = Poll(0.1, 5.0)
    distances = []
    for _ in range(8):
        poll.looked(0.0, found=False)
        distances.append(poll.next_s)
    poll.looked(0.0, found=True)

    assert distances == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    assert poll.next_s == 0.1


def test_full_jitter_stays_within_its_bounds() -> None:
    """The delay lies between a tenth of the base and the exponential bound."""
    ids = SeededIds()

    delays = [full_jitter(ids, 1.0, doublings, 60.0) for doublings in range(40) for _ in range(20)]

    assert min(delays) >= 0.1
    assert max(delays) <= 60.0
    assert max(delays[:20]) <= 1.0


def test_an_idle_event_costs_little(make_world: MakeWorld) -> None:
    """Two hundred idle shards cost at most twenty eventually consistent looks of half a unit a second in each lane."""
    world = make_world(pools=(Pool("floor", 1_000),), shard_counts=(200,))
    cutter = Cutter()
    office = world.new_office(store=cutter.store(world.store))
    _let_idle(world, office, 60)
    cutter.log.clear()

    _let_idle(world, office, 100)

    assert cutter.log.count("due") / 100 <= 20
    assert cutter.log.count("get_pool") / 100 <= 0.5
    assert cutter.log.count("publish") / 100 <= 0.5


def _let_idle(world: World, office: BackOffice, seconds: float) -> None:
    for _ in range(round(seconds / 0.25)):
        world.allocate(office)
        world.clock.advance(0.25)


def test_a_throttled_shard_is_left_to_the_door(make_world: MakeWorld) -> None:
    """A shard whose line cannot be read rests for a jittered second, and the others are served meanwhile."""
    world = make_world(pools=(Pool("floor", 1_000),))
    keys = {shard: world.order(shard=shard) for shard in range(4)}

    class Throttling(Cutter):
        looks = 0

        def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
            if name == "due" and args[1:3] == (2, Lane.LINE):
                self.looks += 1
                raise Throttled
            return super().call(name, function, args, options)

    cutter = Throttling()
    office = world.new_office(store=cutter.store(world.store))

    world.allocate(office, passes=20, step_s=0.05)

    assert [world.seated([keys[shard]]) for shard in range(4)] == [1, 1, 0, 1]
    assert cutter.looks <= 2


def test_a_throttled_batch_is_tried_smaller_and_later(make_world: MakeWorld) -> None:
    """A throttle on the transaction halves the batch and leaves the shards alone for a while."""
    world = make_world(pools=(Pool("floor", 1_000),))
    for _ in range(100):
        world.order()
    sizes: list[int] = []

    class Throttling(Cutter):
        def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
            if name == "hold_batch":
                batch = args[0]
                assert isinstance(batch, HoldBatch)
                sizes.append(len(batch.orders))
                if len(sizes) < 3:
                    raise Throttled
            return super().call(name, function, args, options)

    office = world.new_office(store=Throttling().store(world.store))

    world.allocate(office, passes=6, step_s=0.6)

    assert sizes[:3] == [49, 24, 12]
