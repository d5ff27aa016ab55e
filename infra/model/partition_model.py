"""Tables and their indexes under DynamoDB's throughput limits: the whole model behind one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from infra.model.bucket import to_pico
from infra.model.capacity import Capacity, OnDemand
from infra.model.key_space import KeySpace
from infra.model.limits import Assumptions, Limits
from infra.model.partition import Partition
from infra.model.position import Position
from infra.model.reasons import Operation, Resource, ThrottlingReason


@dataclass(frozen=True, slots=True)
class Charge:
    """What one action costs one table or index.

    resource: the ARN (any unique name will do) of the table or index.
    partition_key, sort_key: in an order-preserving byte form; no sort key is `b""`.
    units: capacity units, a multiple of one half.
    added_bytes: by how much the stored data grow, for size splits.
    """

    resource: str
    operation: Operation
    partition_key: bytes
    sort_key: bytes = b""
    units: float = 1
    added_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reasons` holds one tuple per charge, in order; all are empty when the request passed."""

    reasons: tuple[tuple[ThrottlingReason, ...], ...]

    @property
    def passed(self) -> bool:
        """Whether the request was served."""
        return not any(self.reasons)

    def distinct(self) -> tuple[ThrottlingReason, ...]:
        """Each reason once, in order of appearance."""
        return tuple(dict.fromkeys(reason for group in self.reasons for reason in group))


@dataclass(slots=True)
class PartitionModel:
    """A set of tables. Deterministic: the caller brings the time, nothing here reads a clock."""

    limits: Limits = field(default_factory=Limits)
    assumed: Assumptions = field(default_factory=Assumptions)
    _spaces: dict[str, KeySpace] = field(default_factory=dict)

    def create_table(
        self,
        arn: str,
        capacity: Capacity | None = None,
        *,
        indexes: Mapping[str, Capacity | None] | None = None,
        has_local_index: bool = False,
        now_us: int = 0,
    ) -> None:
        """Add a table and its global secondary indexes (ARN to capacity; none: new, on demand).

        An index has partitions and throughput of its own. Source: "Using Global Secondary Indexes
        in DynamoDB".
        """
        self._spaces[arn] = KeySpace(
            arn,
            Resource.TABLE,
            capacity or OnDemand(),
            self.limits,
            self.assumed,
            has_local_index=has_local_index,
            at_us=now_us,
        )
        for index_arn, index_capacity in (indexes or {}).items():
            self.create_index(index_arn, index_capacity, now_us=now_us)

    def create_index(self, arn: str, capacity: Capacity | None = None, *, now_us: int = 0) -> None:
        """Add a global secondary index to a table that exists."""
        self._spaces[arn] = KeySpace(
            arn, Resource.INDEX, capacity or OnDemand(), self.limits, self.assumed, at_us=now_us
        )

    def drop(self, resource: str) -> None:
        """Forget a deleted table or index."""
        self._spaces.pop(resource, None)

    def knows(self, resource: str) -> bool:
        """Whether a table or index was created here."""
        return resource in self._spaces

    def space(self, resource: str) -> KeySpace:
        """The partitions of one table or index; `KeyError` for an unknown one."""
        return self._spaces[resource]

    def attempt(self, charges: Sequence[Charge], now_us: int) -> Verdict:
        """Serve a request or refuse it whole; a refused one consumes nothing.

        A write to the table needs capacity in every affected index as well, else it is refused with
        the index's ARN. Source: "Understanding Global Secondary Index (GSI) write throttling and back
        pressure in DynamoDB". A transaction passes whole or not at all: "Managing complex workflows
        with DynamoDB transactions".
        """
        steps = [self._locate(charge) for charge in charges]
        reasons = []
        for space, partition, charge, _, pico in steps:
            refused = space.refusals(partition, charge.operation, pico, now_us)
            reasons.append(refused)
            if not refused:
                space.take(partition, charge.operation, pico)
        verdict = Verdict(tuple(reasons))
        if verdict.passed:
            for space, partition, charge, position, _ in steps:
                space.settle(partition, position, charge.operation, charge.units, charge.added_bytes, now_us)
            return verdict
        for (space, partition, charge, position, pico), refused in zip(steps, reasons, strict=True):
            if refused:
                partition.heat.note_refused(position)
            else:
                space.give_back(partition, charge.operation, pico)
        return verdict

    def debit(self, charges: Sequence[Charge], now_us: int) -> None:
        """Charge what was consumed before it was known, such as the rest of a query: it may leave a debt."""
        for charge in charges:
            space, partition, _, position, pico = self._locate(charge)
            space.take(partition, charge.operation, pico)
            space.settle(partition, position, charge.operation, charge.units, charge.added_bytes, now_us)

    def give_back(self, charges: Sequence[Charge]) -> None:
        """Return what a request was charged for work that did not happen, such as index entries of a
        write whose condition failed.
        """
        for charge in charges:
            space, partition, _, _, pico = self._locate(charge)
            space.give_back(partition, charge.operation, pico)

    def _locate(self, charge: Charge) -> tuple[KeySpace, Partition, Charge, Position, int]:
        space = self._spaces[charge.resource]
        position = (space.hash_of(charge.partition_key), charge.sort_key)
        return space, space.partition_at(position), charge, position, to_pico(charge.units)
