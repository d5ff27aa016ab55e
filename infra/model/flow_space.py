"""A table or an index of the aggregate simulation: the same rules on arrays of partitions."""

from __future__ import annotations

import numpy as np

from infra.model.capacity import Growth, OnDemand, partitions_for, ready_units
from infra.model.cells import Cells, Ints, Marks
from infra.model.position import HASH_SPACE
from infra.model.scenario import Floats, Scenario

_US = 1_000_000
_TINY = 1e-300


class FlowSpace:
    """Partition buckets, quota, growth and splits for heat, as `KeySpace` has them, but for flows."""

    def __init__(self, scenario: Scenario, number: int, capacity: OnDemand, units: float) -> None:
        self._scenario = scenario
        self.number = number
        self.units = units
        self._rising = scenario.index_rising_sort if number else scenario.rising_sort
        self._cut_inside = not (scenario.has_local_index and number == 0)
        limits, assumed = scenario.limits, scenario.assumed
        write, read = ready_units(capacity, limits)
        self._reads_ready = read
        self._growth = Growth(write, limits, assumed, 0)
        count = partitions_for(write, read, limits)
        self.lowers: Marks = np.array([HASH_SPACE * i // count for i in range(count)], dtype=np.uint64)
        self._rate = limits.partition_write_units
        self._depth = self._rate * assumed.partition_bucket_s
        self.level = np.full(count, self._depth)
        table_rate = min(limits.table_quota_write_units, capacity.max_write_units or np.inf)
        self._table_rate, self._table_depth = table_rate, table_rate * assumed.quota_bucket_s
        self._table_level = self._table_depth
        self.served = np.zeros(count)
        self._window = np.zeros(count)
        self._window_from_s = 0.0
        self._hot_s = np.zeros(count)
        self.home: Ints = np.zeros(0, dtype=np.int64)

    def place(self, cells: Cells) -> None:
        """Note where each cell lies now."""
        self.home = cells.home(self.number, self.lowers)

    def refill(self, tick_s: float) -> None:
        """Begin a tick: what is refilled during it may be served in it."""
        self.level += self._rate * tick_s
        self._table_level += self._table_rate * tick_s

    def open_for(self, demand: Floats) -> Floats:
        """For each cell the share of `demand` (requests) that its partition lets pass with what is at hand."""
        wanted = np.bincount(self.home, demand, len(self.lowers)) * self.units
        share = np.minimum(1.0, self.level / np.maximum(wanted, _TINY))
        total = float((wanted * share).sum())
        if total > self._table_level:
            share *= max(0.0, self._table_level) / total
        return np.asarray(np.maximum(share, 0.0)[self.home], dtype=np.float64)

    def take(self, passed: Floats) -> None:
        """Charge what table and index could both serve."""
        units = np.bincount(self.home, passed, len(self.lowers)) * self.units
        self.level -= units
        self._table_level -= float(units.sum())
        self.served += units
        self._window += units

    def close_tick(self, units: float, now_s: float) -> bool:
        """What is not used beyond a bucket's depth is lost; true when growth has added partitions."""
        np.minimum(self.level, self._depth, out=self.level)
        self._table_level = min(self._table_depth, self._table_level)
        return self._growth.note(units * self.units, round(now_s * _US)) and self._grow()

    def _grow(self) -> bool:
        needed = partitions_for(self._growth.ready, self._reads_ready, self._scenario.limits)
        before = len(self.lowers)
        while len(self.lowers) < needed:
            ends = np.append(self.lowers[1:], np.uint64(HASH_SPACE - 1))
            widest = int(np.argmax(ends - self.lowers))
            self._insert(int(self.lowers[widest]) + int(ends[widest] - self.lowers[widest]) // 2)
        return len(self.lowers) > before

    def split_for_heat(self, cells: Cells, load: Floats, now_s: float) -> bool:
        """At the end of a heat window, cut what has been hot long enough; true when something was cut.

        load: requests per cell over the window, refused ones included.
        """
        assumed = self._scenario.assumed
        window_s = now_s - self._window_from_s
        hot = self._window >= assumed.heat_threshold * self._rate * window_s
        self._hot_s = np.where(hot, self._hot_s + window_s, 0.0)
        self._window[:], self._window_from_s = 0.0, now_s
        due = np.flatnonzero(self._hot_s >= assumed.heat_sustained_s)
        boundaries = [self._boundary(cells, load, int(p)) for p in due]
        self._hot_s[due] = 0.0
        for boundary in boundaries:
            if boundary is not None:
                cells.cut(self.number, boundary)
                self._insert(boundary)
        return any(boundary is not None for boundary in boundaries)

    def _boundary(self, cells: Cells, load: Floats, partition: int) -> int | None:
        """Where the load is halved: between keys if that balances, else inside the heaviest."""
        inside = np.flatnonzero(self.home == partition)
        order = inside[np.argsort(cells.start[self.number][inside])]
        total = float(load[order].sum())
        if not total:
            return None
        below = np.concatenate([[0.0], np.cumsum(load[order])]) / total
        limit = self._scenario.assumed.heat_lopsided_share
        best = int(np.argmin(np.abs(below[1:-1] - 0.5))) + 1 if len(order) > 1 else 0
        if best and 1 - limit < below[best] < limit:
            return int(cells.start[self.number][order[best]])
        if self._rising or not self._cut_inside:
            return None
        heaviest = order[int(np.argmax(load[order]))]
        width = int(cells.width[self.number][heaviest])
        return int(cells.start[self.number][heaviest]) + width // 2 if width > 1 else None

    def _insert(self, boundary: int) -> None:
        at = int(np.searchsorted(self.lowers, np.uint64(boundary), side="right"))
        self.lowers = np.insert(self.lowers, at, np.uint64(boundary))
        for name in ("level", "served", "_window", "_hot_s"):
            values: Floats = getattr(self, name)
            setattr(self, name, np.insert(values, at, values[at - 1]))
        for name in ("served", "_window", "_hot_s"):
            getattr(self, name)[at - 1 : at + 1] /= 2
