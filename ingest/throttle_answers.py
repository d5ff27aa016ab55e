"""What staff are told about throttles: the rate, where, why, when, and what would have avoided it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from pydantic import Field

from ingest.responses import Answer
from shared.domain.throttling.explain import explain
from shared.domain.throttling.report import Attempts, Bucket, Demand, Row, Throttled, ThrottleKey
from shared.domain.throttling.request import event_of
from shared.domain.times import format_time_ms
from shared.metering.meter import Series
from shared.metering.snapshot import Snapshot, add_series, add_snapshots
from shared.metrics import FIRST_ATTEMPT_S, RETRYING_S

# Keys and reasons that are listed; the sums above them are of all.
MAX_LISTED = 100


class RateAnswer(Answer):
    """Throttled attempts over attempts."""

    attempts: int
    throttled: int
    failed: int = Field(description="Attempts that ended badly for another reason.")
    throttle_rate: float

    @classmethod
    def of(cls, row: Row, **more: str) -> Self:
        """Write a row."""
        rate = round(row.throttled / row.attempts, 6) if row.attempts else 0.0
        return cls(attempts=row.attempts, throttled=row.throttled, failed=row.failed, throttle_rate=rate, **more)


class OperationAnswer(RateAnswer):
    """The attempts of one operation on one table or index."""

    table: str
    index: str
    operation: str


class KeyAnswer(OperationAnswer):
    """The attempts at one partition key; `several` where a request touches several at once."""

    key: str


class ThrottleAnswer(Answer):
    """Throttles of one kind, explained."""

    table: str
    index: str
    operation: str
    key: str
    reason: str = Field(description="As the store gives it.")
    count: int
    first_at: str
    last_at: str
    sentence: str
    more_shards: int | None = Field(
        default=None, description="How many shards more would have avoided it; absent where shards are not the cure."
    )


class MomentAnswer(Answer):
    """Five seconds."""

    at: str
    attempts: int
    throttled: int
    throttle_rate: float
    reasons: dict[str, int]


class CallAnswer(Answer):
    """How one call of the store spends its time: its first attempt, and what comes after it when it is repeated."""

    call: str
    calls: int
    first_attempt_mean_s: float
    first_attempt_p99_s: float | None = Field(default=None, description="Not above; absent when above 10 s.")
    repeated: int
    retrying_mean_s: float | None = None
    retrying_p99_s: float | None = None


class ProcessAnswer(Answer):
    """A process whose counts are in it, and how old they are."""

    process: str
    age_s: float


class ThrottlesAnswer(Answer):
    """Every attempt at the store since the processes began, and those that it refused for want of capacity."""

    as_of: str
    age_s: float = Field(description="Age of the oldest counts in it.")
    processes: list[ProcessAnswer]
    total: RateAnswer
    operations: list[OperationAnswer]
    keys: list[KeyAnswer] = Field(description="The keys with most throttles, then those with most attempts.")
    throttles: list[ThrottleAnswer] = Field(description="By count, the most first.")
    over_time: list[MomentAnswer] = Field(description="The last ten minutes, five seconds each.")
    calls: list[CallAnswer]


def throttles_answer(
    snapshots: Sequence[Snapshot], shards_of: Mapping[str, int], now_ms: int, *, scale: float = 1.0
) -> ThrottlesAnswer:
    """Put several processes' counts together; `shards_of` maps event ids to shard counts, where they are known.

    `scale` is the part of DynamoDB's limits that stands before the store.
    """
    attempts = add_snapshots(snapshots)
    processes = [
        ProcessAnswer(process=one.process, age_s=max(0, now_ms - one.at_ms) / 1000)
        for one in sorted(snapshots, key=lambda one: one.process)
    ]
    return ThrottlesAnswer(
        as_of=format_time_ms(now_ms),
        age_s=max((one.age_s for one in processes), default=0.0),
        processes=processes,
        total=RateAnswer.of(_sum(attempts.rows.values())),
        operations=_operations(attempts),
        keys=_keys(attempts),
        throttles=_throttles(attempts, shards_of, scale),
        over_time=[_moment(second, bucket) for second, bucket in attempts.buckets.items()],
        calls=_calls(snapshots),
    )


def _sum(rows: Iterable[Row]) -> Row:
    total = Row()
    for row in rows:
        total = Row(total.attempts + row.attempts, total.throttled + row.throttled, total.failed + row.failed)
    return total


def _operations(attempts: Attempts) -> list[OperationAnswer]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for (table, index, operation, _), row in attempts.rows.items():
        groups.setdefault((table, index, operation), []).append(row)
    return [
        OperationAnswer.of(_sum(rows), table=table, index=index, operation=operation)
        for (table, index, operation), rows in sorted(groups.items())
    ]


def _keys(attempts: Attempts) -> list[KeyAnswer]:
    ranked = sorted(attempts.rows.items(), key=lambda entry: (-entry[1].throttled, -entry[1].attempts, entry[0]))
    return [
        KeyAnswer.of(row, table=table, index=index, operation=operation, key=place)
        for (table, index, operation, place), row in ranked[:MAX_LISTED]
    ]


def _throttles(attempts: Attempts, shards_of: Mapping[str, int], scale: float) -> list[ThrottleAnswer]:
    ranked = sorted(attempts.throttles.items(), key=lambda entry: (-entry[1].count, entry[0]))
    return [_throttle(key, one, attempts, shards_of, scale) for key, one in ranked[:MAX_LISTED]]


def _throttle(
    key: ThrottleKey, one: Throttled, attempts: Attempts, shards_of: Mapping[str, int], scale: float
) -> ThrottleAnswer:
    table, index, operation, place, reason = key
    event_id = event_of(place)
    demand = attempts.demand.get((table, event_id, True), Demand())
    explained = explain(key, demand, shards=shards_of.get(event_id), scale=scale)
    return ThrottleAnswer(
        table=table,
        index=index,
        operation=operation,
        key=place,
        reason=reason,
        count=one.count,
        first_at=format_time_ms(one.first_ms),
        last_at=format_time_ms(one.last_ms),
        sentence=explained.sentence,
        more_shards=explained.more_shards,
    )


def _moment(second: int, bucket: Bucket) -> MomentAnswer:
    return MomentAnswer(
        at=format_time_ms(second * 1000),
        attempts=bucket.attempts,
        throttled=bucket.throttled,
        throttle_rate=round(bucket.throttled / bucket.attempts, 6) if bucket.attempts else 0.0,
        reasons=dict(bucket.reasons),
    )


def _calls(snapshots: Sequence[Snapshot]) -> list[CallAnswer]:
    first = add_series(snapshots, FIRST_ATTEMPT_S)
    retrying = add_series(snapshots, RETRYING_S)
    return [_call(labels[0], series, retrying.get(labels)) for labels, series in sorted(first.items())]


def _call(call: str, first: Series, retrying: Series | None) -> CallAnswer:
    return CallAnswer(
        call=call,
        calls=first.count,
        first_attempt_mean_s=round(first.mean, 6),
        first_attempt_p99_s=first.quantile(0.99),
        repeated=0 if retrying is None else retrying.count,
        retrying_mean_s=None if retrying is None else round(retrying.mean, 6),
        retrying_p99_s=None if retrying is None else retrying.quantile(0.99),
    )
