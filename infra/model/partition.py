"""One partition: two ceilings, a size and a heat gauge."""

from __future__ import annotations

from infra.model.bucket import TokenBucket
from infra.model.heat import HeatGauge
from infra.model.limits import Assumptions, Limits
from infra.model.position import Position
from infra.model.reasons import Operation


class Partition:
    """Everything from `lower` (included) up to the next partition's `lower`.

    1,000 write units and 3,000 read units a second, in every billing mode; burst does not lift it.
    Source: "Best practices for designing and using partition keys effectively".
    """

    __slots__ = ("_assumed", "_ceilings", "_limits", "buckets", "heat", "lower", "size_bytes", "weights")

    def __init__(self, lower: Position, limits: Limits, assumed: Assumptions, at_us: int, size_bytes: int = 0) -> None:
        self.lower = lower
        self.size_bytes = size_bytes
        self.heat = HeatGauge(assumed, at_us)
        self._limits = limits
        self._assumed = assumed
        self._ceilings = {
            Operation.WRITE: limits.partition_write_units,
            Operation.READ: limits.partition_read_units,
        }
        depth_s = assumed.partition_bucket_s
        reads = TokenBucket(limits.partition_read_units, limits.partition_read_units * depth_s, at_us)
        writes = TokenBucket(limits.partition_write_units, limits.partition_write_units * depth_s, at_us)
        self.buckets = {Operation.WRITE: writes, Operation.READ: reads}
        self.weights = {Operation.WRITE: 1, Operation.READ: 1}
        if assumed.shared_partition_budget:
            self.buckets[Operation.WRITE] = reads
            self.weights[Operation.WRITE] = round(limits.partition_read_units / limits.partition_write_units)

    def note_passed(self, position: Position, operation: Operation, units: float, now_us: int) -> bool:
        """Count heat; true when a split for heat is due."""
        return self.heat.note(position, units / self._ceilings[operation], now_us)

    def split_at(self, boundary: Position, now_us: int) -> Partition:
        """Cut the upper part off. Both halves get a full ceiling and keep the tokens now on hand."""
        half = self.size_bytes // 2
        upper = Partition(boundary, self._limits, self._assumed, now_us, half)
        twins = {id(bucket): bucket.copy_at(now_us) for bucket in self.buckets.values()}
        upper.buckets = {op: twins[id(bucket)] for op, bucket in self.buckets.items()}
        self.size_bytes -= half
        self.heat = HeatGauge(self._assumed, now_us)
        return upper
