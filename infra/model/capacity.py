"""How a table or an index is paid for, and how its throughput grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from infra.model.limits import Assumptions, Limits

_US = 1_000_000


@dataclass(frozen=True, slots=True)
class OnDemand:
    """Pay per request. `warm_*`: bought ahead; `max_*`: the user's own maximum, units per second."""

    warm_write_units: float | None = None
    warm_read_units: float | None = None
    max_write_units: float | None = None
    max_read_units: float | None = None


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A fixed rate, units per second; warm throughput beyond it only adds partitions."""

    write_units: float
    read_units: float
    warm_write_units: float | None = None
    warm_read_units: float | None = None


Capacity = OnDemand | Provisioned


def ready_units(capacity: Capacity, limits: Limits) -> tuple[float, float]:
    """(writes, reads) per second served at once: the warm throughput at creation.

    A new on-demand table takes 4,000 writes and 12,000 reads, unless more was bought ahead. Source:
    "Understanding DynamoDB warm throughput in different scenarios".
    """
    if isinstance(capacity, Provisioned):
        write, read = capacity.write_units, capacity.read_units
    else:
        write, read = limits.new_table_write_units, limits.new_table_read_units
    return max(write, capacity.warm_write_units or 0), max(read, capacity.warm_read_units or 0)


def partitions_for(write_units: float, read_units: float, limits: Limits) -> int:
    """Partitions needed so that an even load of these rates passes."""
    return max(
        1,
        math.ceil(write_units / limits.partition_write_units - 1e-9),
        math.ceil(read_units / limits.partition_read_units - 1e-9),
    )


class Growth:
    """One direction (reads or writes) of an on-demand table: at once up to twice its earlier peak.

    More than a doubling within 30 minutes is not granted. Source: "DynamoDB on-demand capacity mode",
    "Initial throughput and scaling properties". How long a rate must last to be a peak is not
    published: `Assumptions.peak_window_s`.
    """

    __slots__ = ("_assumed", "_base", "_base_us", "_limits", "_sum", "_window_us", "ready")

    def __init__(self, ready: float, limits: Limits, assumed: Assumptions, at_us: int) -> None:
        self.ready = ready
        self._limits = limits
        self._assumed = assumed
        self._base = ready
        self._base_us = self._window_us = at_us
        self._sum = 0.0

    def note(self, units: float, now_us: int) -> bool:
        """Count a passed cost; true when the throughput at hand has grown."""
        grown = self._close_window(now_us)
        self._sum += units
        return grown

    def raise_to(self, units: float) -> bool:
        """Warm throughput bought by hand: it can be raised, never lowered."""
        raised = units > self.ready
        self.ready = max(self.ready, units)
        self._base = max(self._base, units)
        return raised

    def _close_window(self, now_us: int) -> bool:
        elapsed_s = (now_us - self._window_us) / _US
        if elapsed_s < self._assumed.peak_window_s:
            return False
        peak = self._sum / elapsed_s
        self._window_us, self._sum = now_us, 0.0
        if now_us - self._base_us >= self._limits.growth_window_s * _US:
            self._base, self._base_us = self.ready, now_us
        factor = self._limits.growth_factor
        target = min(factor * peak, factor * self._base)
        if target <= self.ready:
            return False
        self.ready = target
        return True
