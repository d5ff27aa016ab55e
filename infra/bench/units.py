"""Capacity units as DynamoDB's own answers count them, every attempt, by step.

Reads of many items are left uncounted by the emulator, and failed conditions have no count in their answers. Both are
counted by the rule: a unit for each 4 KiB of an item read consistently, two in a transaction; a unit for each KiB of
the item that stood in a write's way, two for each action of a cancelled transaction ("Read/write capacity mode" and
"DynamoDB Transactions: how it works", Amazon DynamoDB Developer Guide).
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shared.stores.limits import whole_item_bytes
from shared.stores.wire import from_wire

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_READS = frozenset({"GetItem", "Query", "BatchGetItem", "TransactGetItems"})
_FAILED = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
# What has to do with no item.
_FREE = frozenset({"CreateTable", "DescribeTable", "ListTables", "DeleteTable"})
KIB = 1024


@dataclass(slots=True)
class Step:
    """What one step took: write units by table or `table/index`, those of failed conditions among them, read units."""

    writes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    reads: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: int = 0
    refused: int = 0

    @property
    def table_writes(self) -> float:
        """Write units of tables."""
        return sum(units for name, units in self.writes.items() if "/" not in name)

    @property
    def index_writes(self) -> float:
        """Write units of indexes."""
        return sum(units for name, units in self.writes.items() if "/" in name)

    @property
    def read_units(self) -> float:
        """Read units in all."""
        return sum(self.reads.values())


class UnitBook:
    """Listens to a client; `step` says what for."""

    def __init__(self, client: DynamoDBClient, prefix: str) -> None:
        """Count every attempt of `client` on tables whose names begin with `prefix`."""
        self.steps: dict[str, Step] = {}
        self._step = self._begin("setup")
        self._prefix = f"{prefix}-"
        self._lock = threading.Lock()
        client.meta.events.register("provide-client-params.dynamodb", self._asked)
        client.meta.events.register("after-call.dynamodb", self._answered)

    def begin(self, name: str) -> None:
        """Count for this step from now on."""
        self._step = self._begin(name)

    def _begin(self, name: str) -> Step:
        return self.steps.setdefault(name, Step())

    def _asked(self, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        context["onsale_params"] = params

    def _answered(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:  # noqa: ANN401 - botocore's
        with self._lock:
            self._step.calls += 1
            code = parsed.get("Error", {}).get("Code")
            if code is None:
                self._take(model.name, parsed.get("ConsumedCapacity") or ())
                if not parsed.get("ConsumedCapacity"):
                    self._take_uncounted(model.name, parsed, context.get("onsale_params", {}))
            else:
                self._step.refused += 1
                if code in _FAILED:
                    self._take_failed(parsed, context.get("onsale_params", {}))

    def _take(self, operation: str, consumed: Any) -> None:  # noqa: ANN401 - as the service answers
        into = self._step.reads if operation in _READS else self._step.writes
        for part in [consumed] if isinstance(consumed, dict) else consumed:
            table = self._short(part["TableName"])
            rest = float(part.get("CapacityUnits", 0))
            for name, units in part.get("GlobalSecondaryIndexes", {}).items():
                into[f"{table}/{name}"] += units["CapacityUnits"]
                rest -= units["CapacityUnits"]
            into[table] += rest

    def _take_uncounted(self, operation: str, parsed: dict[str, Any], params: dict[str, Any]) -> None:
        """Count by the rule what the emulator does not: reads of many items, absent ones like the smallest."""
        if operation == "BatchGetItem":
            for table, asked in params["RequestItems"].items():
                found = parsed["Responses"].get(table, [])
                units = sum(map(_read_units, found)) + len(asked["Keys"]) - len(found)
                self._step.reads[self._short(table)] += units if asked.get("ConsistentRead") else units / 2
        elif operation == "TransactGetItems":
            for action, answer in zip(params["TransactItems"], parsed["Responses"], strict=True):
                self._step.reads[self._short(action["Get"]["TableName"])] += 2 * _read_units(answer.get("Item"))
        elif operation not in _FREE:
            raise AssertionError(f"{operation} was not counted")

    def _take_failed(self, parsed: dict[str, Any], params: dict[str, Any]) -> None:
        if "TransactItems" in params:
            for action in params["TransactItems"]:
                for body in action.values():
                    self._fail(body["TableName"], 2)
        else:
            size = whole_item_bytes(from_wire(parsed["Item"])) if parsed.get("Item") else 0
            self._fail(params["TableName"], max(1, math.ceil(size / KIB)))

    def _fail(self, table: str, units: float) -> None:
        self._step.writes[self._short(table)] += units
        self._step.failed[self._short(table)] += units

    def _short(self, table: str) -> str:
        return table.removeprefix(self._prefix)


def _read_units(item: dict[str, Any] | None) -> int:
    return max(1, math.ceil(whole_item_bytes(from_wire(item)) / (4 * KIB))) if item else 1
