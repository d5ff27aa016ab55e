"""How many shards an event needs, so that no partition of the table gets more than it takes.

N suffixed keys fall into P partitions like balls into bins, so the fullest partition holds more than N / P of them::

    fullest <= N / P + sqrt(2 · N / P · ln P)     with high probability, for N well above P

Source: Raab, Steger, "Balls into bins: a simple and tight analysis" (RANDOM 1998), theorem 1. Compared with 3,000
simulated draws for P = 4, 16 and 40 it lies between the median and the worst draw of twenty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from shared.domain.sale import MAX_SHARDS

# "Partitions and data distribution in DynamoDB": write units a second, in every billing mode.
PARTITION_UNITS_PER_S = 1_000
# An on-demand table begins with about four partitions.
MIN_PARTITIONS = 4
# A second is never steady, and what was refused does not show in the stream.
HEADROOM = 1.25
# Steps that take place in a transaction, which costs double: seats are taken, or given back.
_TRANSACTIONAL = ("queued>held", "held>expired", "held>cancelled")


class Advice(Struct, frozen=True):
    """What an event needs, and why; `command` is None when more shards would not help."""

    event_id: str
    peak_units_per_s: float
    shards: int
    needed: int | None
    partitions: int
    because: str
    command: str | None


def advise(event_id: str, *, peak_units_per_s: float, shards: int, partitions: int) -> Advice | None:
    """Recommend a shard count for the peak seen; None when the present one carries it.

    `peak_units_per_s` are write units in the busiest second, `partitions` what the table has at present.
    """
    partitions = max(partitions, MIN_PARTITIONS)
    wanted = peak_units_per_s * HEADROOM
    if ceiling_units_per_s(shards, partitions) >= wanted:
        return None
    seen = f"its busiest second took {peak_units_per_s:,.0f} write units"
    now = f"{shards} shards on {partitions} partitions carry about {ceiling_units_per_s(shards, partitions):,.0f}"
    needed = fewest_shards(wanted, partitions)
    if needed is not None:
        because = f"{seen}, and {now}; {needed} carry {ceiling_units_per_s(needed, partitions):,.0f}."
        command = f"onsale sale reshard {event_id} --shards {needed}"
        return Advice(event_id, peak_units_per_s, shards, needed, partitions, because, command)
    most = partitions * PARTITION_UNITS_PER_S
    because = (
        f"{seen}, and {now}; no shard count lifts {partitions} partitions above {most:,}. "
        f"Raise the table's warm throughput to at least {math.ceil(wanted):,} writes/s first."
    )
    return Advice(event_id, peak_units_per_s, shards, None, partitions, because, None)


def ceiling_units_per_s(shards: int, partitions: int) -> float:
    """Return the write units a second that evenly used shards carry before the fullest partition refuses."""
    if shards == 1 or partitions == 1:
        return PARTITION_UNITS_PER_S
    mean = shards / partitions
    fullest = max(1.0, mean + math.sqrt(2 * mean * math.log(partitions)))
    return PARTITION_UNITS_PER_S * shards / min(fullest, shards)


def units_per_write(changes: Mapping[str, int], writes: int) -> float:
    """Return how many write units a change took on average; items are up to 1 KiB, as a usual order is."""
    if writes == 0:
        return 1.0
    return (writes + sum(changes.get(step, 0) for step in _TRANSACTIONAL)) / writes


def fewest_shards(wanted: float, partitions: int) -> int | None:
    """Return the lowest power of two that carries `wanted` write units a second, or None when none does."""
    shards = 1
    while shards <= MAX_SHARDS:
        if ceiling_units_per_s(shards, partitions) >= wanted:
            return shards
        shards *= 2
    return None
