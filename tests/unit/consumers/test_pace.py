"""Yielding to the door, and looking as often as there is something to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from consumers.pace import Pace, Poll, full_jitter
from consumers.steps import BackOffice
from shared.domain.errors import Throttled
from shared.domain.order import Lane
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch
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


def test_an_empty_shard_that_could_not_be_read_is_read_again_soon(world: World) -> None:
    """However often its reading failed while nobody ordered there, the first order is seen within seconds after."""

    class Dark(Cutter):
        lit = False

        def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
            if name == "due" and args[1:3] == (2, Lane.LINE) and not self.lit:
                raise Throttled
            return super().call(name, function, args, options)

    cutter = Dark()
    office = world.new_office(store=cutter.store(world.store))
    world.allocate(office, passes=240, step_s=0.25)
    key = world.order(shard=2)
    cutter.lit = True

    world.allocate(office, passes=10, step_s=0.25)

    assert world.seated([key]) == 1


class ThrottledHolds(Cutter):
    """Throttles every transaction that touches one of some shards; `sizes` are those of all attempts."""

    def __init__(self, shards: set[int]) -> None:
        super().__init__()
        self.shards = shards
        self.sizes: list[int] = []

    def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        if name == "hold_batch":
            batch: HoldBatch = args[0]
            self.sizes.append(len(batch.orders))
            if self.shards & {hint.key.shard for hint in batch.orders}:
                raise Throttled
        return super().call(name, function, args, options)


def test_q16_a_throttled_shard_holds_up_no_other(make_world: MakeWorld) -> None:
    """Q16: when one shard's writes are throttled the batch is halved until it stands alone; the others are held."""
    world = make_world(pools=(Pool("floor", 1_000),), shard_counts=(8,))
    keys = {shard: [world.order(shard=shard) for _ in range(5)] for shard in range(8)}
    throttling = ThrottledHolds({3})
    office = world.new_office(store=throttling.store(world.store))

    world.allocate(office)

    assert [world.seated(keys[shard]) for shard in range(8)] == [5, 5, 5, 0, 5, 5, 5, 5]
    assert len(throttling.sizes) == 7
    attempts = len(throttling.sizes)
    world.allocate(office, passes=4, step_s=0.1)
    assert len(throttling.sizes) == attempts
    throttling.shards.clear()
    world.allocate(office, passes=4, step_s=1)
    assert world.seated(keys[3]) == 5


def test_a_throttled_batch_of_one_shard_does_not_rest_the_others(world: World) -> None:
    """Q16: a batch that one shard's orders fill says nothing about the others; theirs are held with the next pass."""
    world.order(shard=3)
    office = world.new_office(store=ThrottledHolds({3}).store(world.store))
    world.allocate(office)
    key = world.order(shard=0)

    world.allocate(office, passes=3, step_s=0.05)

    assert world.seated([key]) == 1


def test_a_throttle_everywhere_halves_the_batch_and_gives_way(make_world: MakeWorld) -> None:
    """When it is not one shard's trouble, a few attempts are made, and the next batch is smaller and later."""
    world = make_world(pools=(Pool("floor", 1_000),))
    for _ in range(100):
        world.order()
    throttling = ThrottledHolds({0, 1, 2, 3})
    office = world.new_office(store=throttling.store(world.store))

    world.allocate(office, passes=3, step_s=0.1)
    assert len(throttling.sizes) == 3
    world.clock.advance(1.5)
    world.allocate(office)

    assert (throttling.sizes[0], throttling.sizes[3]) == (49, 24)
