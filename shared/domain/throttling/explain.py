"""A throttle in a sentence: which key, which limit, and what would have avoided it.

The limits' names end the reasons that DynamoDB gives: resource (Table or Index), way (Read or Write), limit. Source:
"ThrottlingReason" in the DynamoDB API Reference; per-partition figures: "Partitions and data distribution".
"""

from __future__ import annotations

import math

from msgspec import Struct

from shared.domain.stats.shard_advice import HEADROOM, MIN_PARTITIONS, PARTITION_UNITS_PER_S, fewest_shards
from shared.domain.throttling.report import Demand, ThrottleKey
from shared.domain.throttling.request import SEVERAL, UNPROCESSED, event_of

# "Partitions and data distribution in DynamoDB": read units a second, in every billing mode.
PARTITION_READ_UNITS_PER_S = 3_000
KEY_RANGE = "KeyRangeThroughputExceeded"
_TABLE_LIMITS = {
    "ProvisionedThroughputExceeded": (
        "the capacity provisioned for the whole {resource}",
        "Raise its provisioned capacity, or switch it to on-demand.",
    ),
    "AccountLimitExceeded": (
        "the account's quota for one table in this region",
        "Ask for a higher quota in Service Quotas.",
    ),
    "MaxOnDemandThroughputExceeded": (
        "the maximum that was set for the {resource} itself",
        "Raise its maximum on-demand throughput.",
    ),
}


class Explanation(Struct, frozen=True):
    """The sentence; how many shards more would have avoided it, None where shards are not the cure or no number is."""

    sentence: str
    more_shards: int | None = None


def explain(
    key: ThrottleKey, demand: Demand, *, shards: int | None, partitions: int = MIN_PARTITIONS, scale: float = 1.0
) -> Explanation:
    """Explain one kind of throttle. `demand` is that of the key's event, `shards` how many it has, if that is known.

    `scale` is the part of DynamoDB's limits that stands before this store.
    """
    table, index, operation, place, reason = key
    resource = f"index {index}" if index else f"table {table}"
    what = f"{operation} at {_where(place)} was refused"
    for limit, (whose, cure) in _TABLE_LIMITS.items():
        if reason.endswith(limit) and not reason.endswith(KEY_RANGE):
            return Explanation(
                f"{what}: {whose.format(resource=resource)} was used up. More shards would not have helped. {cure}"
            )
    reads = "Read" in reason or operation in {"GetItem", "Query", "BatchGetItem", "TransactGetItems"}
    limit = (
        f"the partition's {PARTITION_READ_UNITS_PER_S * scale:,.0f} read units a second"
        if reads
        else f"the partition's {PARTITION_UNITS_PER_S * scale:,.0f} write units a second"
    )
    if reason.endswith(KEY_RANGE):
        because = f"{what}: {limit} in {resource} were used up."
    elif reason == UNPROCESSED:
        because = f"{what} in part: keys were left unread, most likely for {limit} in {resource}."
    else:
        because = f"{what}: {resource} gives no limit for it ({reason or 'no reason'}), most likely {limit}."
    if table != "orders":
        return Explanation(f"{because} {_counter_cure(table, place)}")
    if reads:
        return Explanation(f"{because} Fewer looks would have avoided it: fewer workers on this shard, longer pauses.")
    return _shards_cure(because, event_of(place), demand.peak, shards, partitions, scale)


def _where(place: str) -> str:
    return "several keys at once" if place == SEVERAL else f"key {place}"


def _counter_cure(table: str, place: str) -> str:
    if table == "inventory":
        event_id = event_of(place)
        return f"Shards do not spread counters: more slices would have{f' in {event_id}' if event_id else ''}."
    return "Shards do not spread this table; its callers must ask less often."


def _shards_cure(
    because: str, event_id: str, peak: float, shards: int | None, partitions: int, scale: float
) -> Explanation:
    if peak <= 0 or shards is None or not event_id:
        return Explanation(f"{because} How much was asked for is not known any more, so no shard count is named.")
    asked = f"{event_id} asked for {peak:,.0f} write units in that second over {shards} shards"
    needed = fewest_shards(peak * HEADROOM / scale, partitions)
    if needed is None:
        most = math.ceil(peak * HEADROOM)
        return Explanation(
            f"{because} {asked}; no shard count lifts {partitions} partitions to {most:,}: warm the table up first."
        )
    if needed <= shards:
        return Explanation(
            f"{because} {asked}, which so many carry when they are used evenly: look for one hot key.", more_shards=0
        )
    return Explanation(
        f"{because} {asked}; {needed - shards} more shards ({needed} in all) would have avoided it.",
        more_shards=needed - shards,
    )
