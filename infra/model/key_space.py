"""A table or an index: its partitions and the limits over all of them."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

from infra.model.bucket import TokenBucket
from infra.model.capacity import Capacity, Growth, OnDemand, partitions_for, ready_units
from infra.model.limits import Assumptions, Limits
from infra.model.partition import Partition
from infra.model.position import HASH_SPACE, Position, key_hash, name_salt
from infra.model.reasons import LimitType, Operation, Resource, ThrottlingReason


class KeySpace:
    """Hash ranges over partitions; a partition splits (growth, heat, size) and never merges.

    Sources: "Partitions and data distribution in DynamoDB" for ranges and size splits; "DynamoDB burst
    and adaptive capacity" for the table bucket of a provisioned table, its 300 s of burst and the use of
    neighbours' unused capacity; "Quotas in Amazon DynamoDB" for the quota per table; "DynamoDB maximum
    throughput for on-demand tables" for the user's own maximum. The quota is counted for each index by
    itself, as the reason `IndexWriteAccountLimitExceeded` suggests.
    """

    def __init__(
        self,
        arn: str,
        resource: Resource,
        capacity: Capacity,
        limits: Limits,
        assumed: Assumptions,
        *,
        has_local_index: bool = False,
        at_us: int = 0,
    ) -> None:
        self.arn = arn
        self.salt = name_salt(arn) if assumed.hash_per_resource else b""
        self._capacity = capacity
        self._limits = limits
        self._assumed = assumed
        self._cut_inside = not has_local_index
        write, read = ready_units(capacity, limits)
        self._growth = {
            Operation.WRITE: Growth(write, limits, assumed, at_us),
            Operation.READ: Growth(read, limits, assumed, at_us),
        }
        count = partitions_for(write, read, limits)
        self.partitions = [Partition((HASH_SPACE * i // count, b""), limits, assumed, at_us) for i in range(count)]
        self._lowers = [p.lower for p in self.partitions]
        self._table_buckets = {op: self._buckets_over_all(op, at_us) for op in Operation}
        self._shares = self._fresh_shares(at_us)
        self._reasons = {
            (op, limit): ThrottlingReason(f"{resource}{op}{limit}", arn) for op in Operation for limit in LimitType
        }

    def _buckets_over_all(self, op: Operation, at_us: int) -> list[tuple[LimitType, TokenBucket]]:
        is_write = op is Operation.WRITE
        capacity, limits, assumed = self._capacity, self._limits, self._assumed
        if isinstance(capacity, OnDemand):
            quota = limits.table_quota_write_units if is_write else limits.table_quota_read_units
            depth_s = assumed.quota_bucket_s
            buckets = [(LimitType.ACCOUNT, TokenBucket(quota, quota * depth_s, at_us))]
            most = capacity.max_write_units if is_write else capacity.max_read_units
            if most is not None:
                bucket = TokenBucket(most, most * depth_s, at_us)
                buckets.insert(0, (LimitType.MAX_ON_DEMAND, bucket))
            return buckets
        rate = capacity.write_units if is_write else capacity.read_units
        depth = rate * max(1.0, limits.burst_s * assumed.burst_share)
        level = min(depth, rate * assumed.burst_level_s)
        return [(LimitType.PROVISIONED, TokenBucket(rate, depth, at_us, level))]

    def _fresh_shares(self, at_us: int) -> dict[tuple[int, Operation], TokenBucket]:
        """Without adaptive capacity each partition of a provisioned table lives on its own share."""
        capacity = self._capacity
        if isinstance(capacity, OnDemand) or self._assumed.adaptive_capacity:
            return {}
        rates = {Operation.WRITE: capacity.write_units, Operation.READ: capacity.read_units}
        shares = {}
        for partition in self.partitions:
            for op, rate in rates.items():
                share = rate / len(self.partitions)
                depth = share * max(1.0, self._limits.burst_s * self._assumed.burst_share)
                level = share * self._assumed.burst_level_s
                shares[id(partition), op] = TokenBucket(share, depth, at_us, level)
        return shares

    def hash_of(self, partition_key: bytes) -> int:
        """Where a partition key lies in this table or index."""
        return key_hash(partition_key, self.salt)

    def partition_at(self, position: Position) -> Partition:
        """The partition that holds a position."""
        return self.partitions[bisect_right(self._lowers, position) - 1]

    def ready(self, op: Operation) -> float:
        """Units per second served at once when evenly spread: the warm throughput now."""
        return self._growth[op].ready

    def refusals(self, partition: Partition, op: Operation, pico: int, now_us: int) -> tuple[ThrottlingReason, ...]:
        """Every limit that a cost exceeds now; empty when it passes. Takes nothing."""
        exceeded: tuple[ThrottlingReason, ...] = ()
        for limit, bucket in self._table_buckets[op]:
            if not bucket.has(pico, now_us):
                exceeded += (self._reasons[op, limit],)
        if not partition.buckets[op].has(pico * partition.weights[op], now_us):
            return (*exceeded, self._reasons[op, LimitType.KEY_RANGE])
        if self._shares and not self._shares[id(partition), op].has(pico, now_us):
            return (*exceeded, self._reasons[op, LimitType.KEY_RANGE])
        return exceeded

    def take(self, partition: Partition, op: Operation, pico: int) -> None:
        """Charge a cost that passed."""
        for _, bucket in self._table_buckets[op]:
            bucket.take(pico)
        partition.buckets[op].take(pico * partition.weights[op])
        if self._shares:
            self._shares[id(partition), op].take(pico)

    def give_back(self, partition: Partition, op: Operation, pico: int) -> None:
        """Undo a charge of a request that was refused elsewhere."""
        for _, bucket in self._table_buckets[op]:
            bucket.give_back(pico)
        partition.buckets[op].give_back(pico * partition.weights[op])
        if self._shares:
            self._shares[id(partition), op].give_back(pico)

    def settle(
        self, partition: Partition, position: Position, op: Operation, units: float, added_bytes: int, now_us: int
    ) -> None:
        """Count a passed cost towards heat, growth and size, and split what is due."""
        if partition.note_passed(position, op, units, now_us):
            boundary = partition.heat.cut(inside_collections=self._cut_inside)
            partition.heat.start_again()
            self._split(partition, boundary, now_us)
        if added_bytes:
            partition.size_bytes = max(0, partition.size_bytes + added_bytes)
            if partition.size_bytes > self._limits.partition_max_bytes:
                self._split(partition, self._size_boundary(partition), now_us)
        if self._growth[op].note(units, now_us) and isinstance(self._capacity, OnDemand):
            self._grow_partitions(now_us)

    def warm(self, write_units: float, read_units: float, now_us: int) -> None:
        """Buy warm throughput; what lies below the present value changes nothing."""
        self._growth[Operation.WRITE].raise_to(write_units)
        self._growth[Operation.READ].raise_to(read_units)
        self._grow_partitions(now_us)

    def _grow_partitions(self, now_us: int) -> None:
        needed = partitions_for(self._growth[Operation.WRITE].ready, self._growth[Operation.READ].ready, self._limits)
        while len(self.partitions) < needed:
            spans = [upper - lower for lower, upper in self._hash_spans()]
            widest = spans.index(max(spans))
            if spans[widest] <= 1:
                return
            lower, upper = self._hash_spans()[widest]
            self._split(self.partitions[widest], ((lower + upper) // 2, b""), now_us)

    def _hash_spans(self) -> list[tuple[int, int]]:
        hashes = [lower[0] for lower in self._lowers] + [HASH_SPACE]
        return list(pairwise(hashes))

    def _size_boundary(self, partition: Partition) -> Position | None:
        """The middle of the range; inside one item collection, the middle of its recent keys."""
        lower, upper = self._hash_spans()[self._lowers.index(partition.lower)]
        if upper - lower > 1:
            return ((lower + upper) // 2, b"")
        return partition.heat.cut(inside_collections=self._cut_inside)

    def _split(self, partition: Partition, boundary: Position | None, now_us: int) -> None:
        if boundary is None or boundary <= partition.lower:
            return
        upper = partition.split_at(boundary, now_us)
        insort(self.partitions, upper, key=lambda p: p.lower)
        insort(self._lowers, boundary)
        if self._shares:
            self._shares = self._fresh_shares(now_us)
