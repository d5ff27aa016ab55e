"""AWS's words for why a request was refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """What has partitions and throughput of its own."""

    TABLE = "Table"
    INDEX = "Index"


class Operation(StrEnum):
    """Which of the two capacities a cost is counted in."""

    READ = "Read"
    WRITE = "Write"


class LimitType(StrEnum):
    """Which limit refused. Source: API reference, "ThrottlingReason"."""

    KEY_RANGE = "KeyRangeThroughputExceeded"
    PROVISIONED = "ProvisionedThroughputExceeded"
    ACCOUNT = "AccountLimitExceeded"
    MAX_ON_DEMAND = "MaxOnDemandThroughputExceeded"


@dataclass(frozen=True, slots=True)
class ThrottlingReason:
    """`reason` is resource type + operation + limit type; `resource` the ARN of table or index.

    Source: API reference, "ThrottlingReason".
    """

    reason: str
    resource: str

    def as_json(self) -> dict[str, str]:
        """The form in which the service sends it."""
        return {"reason": self.reason, "resource": self.resource}
