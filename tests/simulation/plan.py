"""What one seed means: the sale, the crowd and the bad luck of one simulated night."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class NightPlan:
    """Everything a seed decides beforehand."""

    seed: int
    sale: Sale
    buyers: tuple[BuyerPlan, ...]
    weather: Weather
    workers: int
    doors: int
    paused_ms: tuple[int, int] | None
    closes_after_ms: int


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
    )
    crowd = rng.randrange(4, 30)
    return NightPlan(
        seed=seed,
        sale=sale,
        buyers=tuple(_buyer(rng, number, sale) for number in range(crowd)),
        weather=weather,
        workers=rng.randrange(1, 4),
        doors=rng.randrange(1, 3),
        paused_ms=(rng.randrange(5_000, 10_000), rng.randrange(10_000, 25_000)) if rng.random() < 0.2 else None,
        closes_after_ms=rng.choice([RUSH_MS, RUSH_MS, 12_000]),
    )


def calmer(plan: NightPlan, *, buyers: int) -> NightPlan:
    """Return the same night with fewer buyers: how a failing night is shortened."""
    return replace(plan, buyers=plan.buyers[:buyers])


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
    )
