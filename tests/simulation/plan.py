"""What one seed means: the sale, the crowd and the bad luck of one simulated night."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from shared.domain.sale import Pool, Sale, TicketType, WhenShort
from tests.fakes.payment import CARD, DECLINED_CARD, SLOW_CARD

OPENS_MS = 1_000_000
# The last wish is made before this; afterwards faults heal and the sale is closed.
RUSH_MS = 30_000


@dataclass(frozen=True, slots=True)
class BuyerPlan:
    """One buyer: when they press, for what, how they pay, and what else they do."""

    name: str
    at_ms: int
    ticket_type_id: str
    quantity: int
    method: str | None
    pays_by_hand: bool
    cancels_after_ms: int | None
    repeats: int
    second_card: bool


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad the night is: rates per call, and chances of dying at a wait."""

    fault_rate: float
    hint_rate: float
    payment_rate: float
    worker_crash: float
    door_crash: float
    pause_rate: float
    skew_ms: int
    payments_dead_ms: tuple[int, int] | None
    hooks_lost: float
    hooks_doubled: float
    hooks_late_ms: int
    forget_rate: float


class Deed(StrEnum):
    """What staff may do to a running sale."""

    PAUSE = "pause"
    PAUSE_ALL = "pause all"
    RESUME = "resume"
    RESHARD = "reshard"
    CAPACITY = "capacity"
    WITHHOLD = "withhold"
    CLOSE = "close"
    CANCEL = "cancel"
    REFUND = "refund"
    REFUND_PART = "refund in part"
    REFUND_WITHHOLD = "refund and withhold"
    REFUND_ALL = "refund all"


@dataclass(frozen=True, slots=True)
class StaffPlan:
    """One deed of staff; `figure` is what it sets: shards, seats in all, seats withheld."""

    at_ms: int
    deed: Deed
    figure: int = 0
    pool_id: str = "floor"


@dataclass(frozen=True, slots=True)
class NightPlan:
    """Everything a seed decides beforehand.

    `deaf_doors` of the doors never hear that the shard map has grown. `strays` payments come for orders that
    never were.
    """

    seed: int
    sale: Sale
    buyers: tuple[BuyerPlan, ...]
    weather: Weather
    workers: int
    doors: int
    deaf_doors: int
    staff: tuple[StaffPlan, ...]
    rush_ends_ms: int
    strays: int


def plan_night(seed: int) -> NightPlan:
    """Draw a night from its seed."""
    rng = random.Random(seed)
    sale = _sale(rng)
    stormy = rng.random()
    weather = Weather(
        fault_rate=rng.choice([0.0, 0.02, 0.1]) * stormy,
        hint_rate=rng.choice([0.0, 0.1, 0.3]) * stormy,
        payment_rate=rng.choice([0.0, 0.05, 0.2]) * stormy,
        worker_crash=rng.choice([0.0, 0.002, 0.02]),
        door_crash=rng.choice([0.0, 0.01, 0.05]),
        pause_rate=rng.choice([0.0, 0.002, 0.01]),
        skew_ms=rng.choice([0, 0, 200, 10_000]),
        payments_dead_ms=(rng.randrange(20_000), rng.randrange(20_000, 60_000)) if rng.random() < 0.3 else None,
        hooks_lost=rng.choice([0.0, 0.3, 1.0]),
        hooks_doubled=rng.choice([0.0, 0.3]),
        hooks_late_ms=rng.choice([10, 2_000, 20_000]),
        forget_rate=rng.choice([0.0, 0.2, 1.0]),
    )
    crowd = rng.randrange(4, 30)
    staff = _staff(rng, sale)
    grows = any(one.deed is Deed.RESHARD for one in staff)
    return NightPlan(
        seed=seed,
        sale=sale,
        buyers=tuple(_buyer(rng, number, sale) for number in range(crowd)),
        weather=weather,
        workers=rng.randrange(1, 4),
        doors=rng.randrange(2, 4) if grows else rng.randrange(1, 3),
        deaf_doors=rng.choice([0, 1]) if grows else 0,
        staff=staff,
        rush_ends_ms=rng.choice([RUSH_MS, RUSH_MS, 12_000]),
        strays=rng.choice([0, 0, 0, 1, 2]),
    )


CALM = Weather(
    fault_rate=0.0,
    hint_rate=0.0,
    payment_rate=0.0,
    worker_crash=0.0,
    door_crash=0.0,
    pause_rate=0.0,
    skew_ms=0,
    payments_dead_ms=None,
    hooks_lost=0.0,
    hooks_doubled=0.0,
    hooks_late_ms=0,
    forget_rate=0.0,
)


def calmer(plan: NightPlan) -> Iterator[NightPlan]:
    """Yield nights like this one with less in them, the boldest cuts first: how a failing night is shortened."""
    count = len(plan.buyers)
    for keep in sorted({1, 2, count // 4, count // 2} - {0, count}):
        yield replace(plan, buyers=plan.buyers[:keep])
        yield replace(plan, buyers=plan.buyers[-keep:])
    for name in (field.name for field in fields(Weather)):
        if getattr(plan.weather, name) != getattr(CALM, name):
            yield replace(plan, weather=replace(plan.weather, **{name: getattr(CALM, name)}))
    for at in range(len(plan.staff)):
        yield replace(plan, staff=plan.staff[:at] + plan.staff[at + 1 :])
    if plan.workers > 1:
        yield replace(plan, workers=1)
    if plan.strays:
        yield replace(plan, strays=0)
    for at in range(count if count > 1 else 0):
        yield replace(plan, buyers=plan.buyers[:at] + plan.buyers[at + 1 :])


def _sale(rng: random.Random) -> Sale:
    capacity = rng.randrange(1, 30)
    slices = rng.choice([1, 1, 2, 3])
    pools = [Pool("floor", capacity, slices)]
    kinds = [TicketType("standing", "Standing", "floor", 2_500), TicketType("guest", "Guest", "floor", 0)]
    if rng.random() < 0.3:
        pools.append(Pool("roof", rng.randrange(1, 10)))
        kinds.append(TicketType("terrace", "Terrace", "roof", 9_900))
    return Sale(
        event_id="gig",
        name="The Gig",
        currency="EUR",
        opens_at_ms=OPENS_MS,
        closes_at_ms=OPENS_MS + 100 * RUSH_MS,
        pools=tuple(pools),
        ticket_types=tuple(kinds),
        salt=rng.randbytes(16),
        shard_counts=(rng.choice([1, 3, 4, 8]),),
        max_per_order=6,
        max_per_buyer=rng.choice([None, None, 2, 6]),
        hold_ttl_s=rng.choice([5, 20]),
        when_short=rng.choice([WhenShort.WAIT, WhenShort.WAIT, WhenShort.REJECT]),
    )


def _staff(rng: random.Random, sale: Sale) -> tuple[StaffPlan, ...]:
    """Draw what staff do; a pause is always followed by a resume."""
    deeds: list[StaffPlan] = []
    if rng.random() < 0.2:
        pause = rng.choice([Deed.PAUSE, Deed.PAUSE_ALL])
        deeds.append(StaffPlan(rng.randrange(5_000, 10_000), pause))
        deeds.append(StaffPlan(rng.randrange(10_000, 25_000), Deed.RESUME))
    shards = sale.shards
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        shards = rng.choice([shards + 1, shards * 2, shards * 4])
        deeds.append(StaffPlan(rng.randrange(15_000), Deed.RESHARD, shards))
    for _ in range(rng.choice([0, 0, 0, 1, 2, 3])):
        pool = rng.choice(sale.pools)
        deed = rng.choice([Deed.CAPACITY, Deed.CAPACITY, Deed.WITHHOLD])
        most = 2 * pool.capacity if deed is Deed.CAPACITY else pool.capacity
        deeds.append(StaffPlan(rng.randrange(25_000), deed, rng.randrange(1, most + 1), pool.pool_id))
    if rng.random() < 0.2:
        ends_ms, how = rng.randrange(8_000, 25_000), rng.choice([Deed.CLOSE, Deed.CANCEL])
        deeds.append(StaffPlan(ends_ms, how))
        if how is Deed.CANCEL:
            deeds.append(StaffPlan(ends_ms + rng.randrange(10_000), Deed.REFUND_ALL))
    for _ in range(rng.choice([0, 0, 1, 3])):
        deed = rng.choice([Deed.REFUND, Deed.REFUND_PART, Deed.REFUND_WITHHOLD])
        deeds.append(StaffPlan(rng.randrange(5_000, 30_000), deed, rng.randrange(1, 3_000)))
    return tuple(deeds)


def _buyer(rng: random.Random, number: int, sale: Sale) -> BuyerPlan:
    by_hand = rng.random() < 0.3
    return BuyerPlan(
        # Some people press twice, with a key of their own each time.
        name=f"buyer-{number if rng.random() < 0.8 else number // 2}",
        at_ms=rng.choice([0, 10, rng.randrange(1_000), rng.randrange(RUSH_MS)]),
        ticket_type_id=rng.choice(sale.ticket_types).ticket_type_id,
        quantity=min(rng.choice([1, 1, 2, 3, 4]), sale.max_per_buyer or 6),
        method=None if by_hand else rng.choice([CARD, CARD, CARD, DECLINED_CARD, SLOW_CARD]),
        pays_by_hand=by_hand and rng.random() < 0.7,
        cancels_after_ms=rng.randrange(1, 15_000) if rng.random() < 0.2 else None,
        repeats=rng.choice([0, 0, 1, 3]),
        second_card=rng.random() < 0.6,
    )
