"""What staff are told of a sale's queue."""

from __future__ import annotations

from pydantic import Field

from ingest.queue_look import QueueLook, ShardLook
from ingest.responses import Answer
from shared.domain.order import Lane, WorkHint
from shared.domain.stats.states import PARKED, add_steps
from shared.domain.times import format_time_ms


class LaneAnswer(Answer):
    """Orders in one lane."""

    depth: int = Field(description="Orders counted.")
    at_least: bool = Field(description="There may be more: counting stopped at a bound.")
    oldest_at: str | None = Field(default=None, description="The earliest order's time in this lane.")
    oldest_age_s: float | None = Field(default=None, description="How long ago that was; absent for a time to come.")


class LanesAnswer(Answer):
    """`line` waits for seats, `timer` for a time or the payment service, `fulfil` for programs, `parked` for people."""

    line: LaneAnswer
    timer: LaneAnswer
    fulfil: LaneAnswer
    parked: LaneAnswer


class ShardAnswer(Answer):
    """One shard; without `lanes` it did not answer just now."""

    shard: int
    lanes: LanesAnswer | None = None
    states: dict[str, int] | None = None


class QueueAnswer(Answer):
    """Depth, oldest age and counts by status, of the sale and of every shard.

    Depths and ages are read from the work index at `as_of`, a moment late. `states` count the orders by status, and
    how many of them are parked, as the stream of changes has told; they are as old as `states_age_s` says, or older
    if nothing changed since, and absent when nothing was counted.
    """

    event_id: str
    as_of: str
    age_s: float
    counted_per_shard: int = Field(description="Where counting a lane of one shard stops.")
    lanes: LanesAnswer
    states: dict[str, int] | None = None
    states_as_of: str | None = None
    states_age_s: float | None = None
    silent_shards: list[int] = Field(description="Shards that did not answer; the sums leave them out.")
    shards: list[ShardAnswer]


class PeekOrderAnswer(Answer):
    """One entry of the work index: it may have been dealt with already."""

    order_id: str
    shard: int
    at: str = Field(description="The order's time in this lane; a time to come for what is hidden or not due.")
    age_s: float | None = None
    accepted_at: str
    buyer_id: str
    seats: dict[str, int] = Field(description="Seats wanted, by pool.")


class PeekAnswer(Answer):
    """The first entries of a lane, earliest first; nothing was taken."""

    event_id: str
    lane: Lane
    as_of: str
    orders: list[PeekOrderAnswer]
    silent_shards: list[int]


def queue_answer(look: QueueLook, now_ms: int) -> QueueAnswer:
    """Write a look; ages are counted to now, not to when it was made."""
    states = add_steps({0: shard.states} for shard in look.shards).get(0, {})
    counted = look.states_ms is not None
    return QueueAnswer(
        event_id=look.event_id,
        as_of=format_time_ms(look.at_ms),
        age_s=_age_s(look.at_ms, now_ms) or 0.0,
        counted_per_shard=look.most,
        lanes=_lanes(look.shards, now_ms),
        states=_sorted(states) if counted else None,
        states_as_of=None if look.states_ms is None else format_time_ms(look.states_ms),
        states_age_s=None if look.states_ms is None else max(0, now_ms - look.states_ms) / 1000,
        silent_shards=[shard.shard for shard in look.shards if shard.lanes is None],
        shards=[
            ShardAnswer(
                shard=shard.shard,
                lanes=None if shard.lanes is None else _lanes((shard,), now_ms),
                states=_sorted(shard.states) if counted else None,
            )
            for shard in look.shards
        ],
    )


def peek_answer(event_id: str, lane: Lane, found: list[WorkHint], silent: list[int], now_ms: int) -> PeekAnswer:
    """Write what was seen."""
    return PeekAnswer(
        event_id=event_id,
        lane=lane,
        as_of=format_time_ms(now_ms),
        orders=[
            PeekOrderAnswer(
                order_id=hint.key.order_id,
                shard=hint.key.shard,
                at=format_time_ms(hint.at_ms),
                age_s=_age_s(hint.at_ms, now_ms),
                accepted_at=format_time_ms(hint.accepted_at_ms),
                buyer_id=hint.buyer_id,
                seats={want.pool_id: want.quantity for want in hint.demand},
            )
            for hint in found
        ],
        silent_shards=silent,
    )


def _lanes(shards: tuple[ShardLook, ...], now_ms: int) -> LanesAnswer:
    return LanesAnswer(**{str(lane): _lane(shards, lane, now_ms) for lane in Lane})


def _lane(shards: tuple[ShardLook, ...], lane: Lane, now_ms: int) -> LaneAnswer:
    looks = [shard.lanes[lane] for shard in shards if shard.lanes is not None]
    oldest_ms = min((look.oldest_ms for look in looks if look.oldest_ms is not None), default=None)
    return LaneAnswer(
        depth=sum(look.depth for look in looks),
        at_least=any(look.capped for look in looks),
        oldest_at=None if oldest_ms is None else format_time_ms(oldest_ms),
        oldest_age_s=None if oldest_ms is None else _age_s(oldest_ms, now_ms),
    )


def _sorted(states: object) -> dict[str, int]:
    counts: dict[str, int] = dict(states) if isinstance(states, dict) else {}
    return {name: counts[name] for name in sorted(counts, key=lambda name: (name == PARKED, name))}


def _age_s(at_ms: int, now_ms: int) -> float | None:
    return (now_ms - at_ms) / 1000 if at_ms <= now_ms else None
