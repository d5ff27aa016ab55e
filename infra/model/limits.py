"""What AWS publishes about DynamoDB's throughput, and what it does not publish."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Published figures, in capacity units per second unless the name says otherwise.

    Sources, AWS documentation pages by name:
    partition ceiling: "Best practices for designing and using partition keys effectively";
    new tables and doubling: "DynamoDB on-demand capacity mode", "Understanding DynamoDB warm
    throughput in different scenarios"; quota per table: "Quotas in Amazon DynamoDB"; burst: "DynamoDB
    burst and adaptive capacity"; 10 GB: "Partitions and data distribution in DynamoDB".
    """

    partition_write_units: float = 1_000
    partition_read_units: float = 3_000
    new_table_write_units: float = 4_000
    new_table_read_units: float = 12_000
    table_quota_write_units: float = 40_000
    table_quota_read_units: float = 40_000
    burst_s: float = 300
    growth_factor: float = 2
    growth_window_s: float = 1_800
    partition_max_bytes: int = 10 * 1024**3

    def scaled(self, factor: float) -> Limits:
        """The same rules for a machine `factor` times as fast: every rate multiplied, no duration."""
        if not factor > 0:
            raise ValueError("A scale must be a number above 0: 1 is DynamoDB's own size.")
        return replace(
            self,
            partition_write_units=self.partition_write_units * factor,
            partition_read_units=self.partition_read_units * factor,
            new_table_write_units=self.new_table_write_units * factor,
            new_table_read_units=self.new_table_read_units * factor,
            table_quota_write_units=self.table_quota_write_units * factor,
            table_quota_read_units=self.table_quota_read_units * factor,
        )


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Constants AWS does not publish. Each default is a guess on the careful side; change any.

    shared_partition_budget: reads and writes of a partition draw on one budget (a write unit weighs
        as much as three read units), or on two. AWS re:Post says "or a linear combination of both";
        the developer guide states two separate figures.
    partition_bucket_s: how many seconds of its ceiling a partition can serve at one instant.
    quota_bucket_s: the same for the table quota and the user's maximum.
    burst_share: which part of the unused capacity is really there later ("best effort").
    burst_level_s: how much of it a table holds at its creation.
    adaptive_capacity: a partition of a provisioned table may use what its neighbours leave unused.
    heat_threshold: share of its ceiling above which a partition counts as hot.
    heat_window_s: the span over which that share is taken.
    heat_sustained_s: from the first hot second to the finished split.
    heat_samples, heat_sample_every: what a partition remembers of recent keys.
    heat_lopsided_share: a cut that leaves this much of the newest load on one side is not made.
    peak_window_s: how long a rate must be held to count as an earlier peak.
    index_transaction_factor: what an index write costs when a transaction causes it (1 or 2).
    hash_per_resource: table and index hash one key to unrelated places, or to the same.
    """

    shared_partition_budget: bool = False
    partition_bucket_s: float = 1.0
    quota_bucket_s: float = 1.0
    burst_share: float = 1.0
    burst_level_s: float = 1.0
    adaptive_capacity: bool = True
    heat_threshold: float = 0.9
    heat_window_s: float = 10
    heat_sustained_s: float = 300
    heat_samples: int = 256
    heat_sample_every: int = 7
    heat_lopsided_share: float = 0.9
    peak_window_s: float = 60
    index_transaction_factor: int = 1
    hash_per_resource: bool = True
