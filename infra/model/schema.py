"""What a table's own description says about keys, indexes and capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.model.capacity import Capacity, OnDemand, Provisioned


@dataclass(frozen=True, slots=True)
class KeyNames:
    """Attribute names of a partition key and, if there is one, a sort key."""

    partition: str
    sort: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """One or two names."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """A global secondary index. `projected`: names it holds beside all keys; none: every attribute."""

    name: str
    arn: str
    key: KeyNames
    projected: frozenset[str] | None
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table, its global indexes, and the keys of its local ones (which share the table's partitions)."""

    name: str
    arn: str
    key: KeyNames
    indexes: tuple[IndexSchema, ...]
    local_indexes: Mapping[str, KeyNames]
    capacity: Capacity

    @property
    def index_key_names(self) -> frozenset[str]:
        """Every attribute that is a key of some global index."""
        return frozenset(name for index in self.indexes for name in index.key.names)

    def global_index(self, name: str) -> IndexSchema | None:
        """The global index of that name, if there is one."""
        return next((index for index in self.indexes if index.name == name), None)


def schema_of(description: Mapping[str, Any]) -> TableSchema:
    """Read the `Table` (or `TableDescription`) member of an answer about a table.

    Source: API reference, "TableDescription".
    """
    on_demand = (description.get("BillingModeSummary") or {}).get("BillingMode") == "PAY_PER_REQUEST"
    key = _key_names(description["KeySchema"])
    indexes = tuple(
        _index(index, key, description["TableArn"], on_demand=on_demand)
        for index in description.get("GlobalSecondaryIndexes") or ()
    )
    local = {i["IndexName"]: _key_names(i["KeySchema"]) for i in description.get("LocalSecondaryIndexes") or ()}
    capacity = _capacity(description, on_demand=on_demand)
    return TableSchema(description["TableName"], description["TableArn"], key, indexes, local, capacity)


def _index(index: Mapping[str, Any], table_key: KeyNames, table_arn: str, *, on_demand: bool) -> IndexSchema:
    key = _key_names(index["KeySchema"])
    projection = index.get("Projection") or {}
    projected = None
    if projection.get("ProjectionType", "ALL") != "ALL":
        projected = frozenset(projection.get("NonKeyAttributes") or ()) | set(table_key.names) | set(key.names)
    arn = index.get("IndexArn") or f"{table_arn}/index/{index['IndexName']}"
    return IndexSchema(index["IndexName"], arn, key, projected, _capacity(index, on_demand=on_demand))


def _key_names(elements: list[Mapping[str, str]]) -> KeyNames:
    by_type = {element["KeyType"]: element["AttributeName"] for element in elements}
    return KeyNames(by_type["HASH"], by_type.get("RANGE"))


def _capacity(description: Mapping[str, Any], *, on_demand: bool) -> Capacity:
    warm = description.get("WarmThroughput") or {}
    warm_write, warm_read = warm.get("WriteUnitsPerSecond"), warm.get("ReadUnitsPerSecond")
    provisioned = description.get("ProvisionedThroughput") or {}
    write, read = provisioned.get("WriteCapacityUnits") or 0, provisioned.get("ReadCapacityUnits") or 0
    if not on_demand and write and read:
        return Provisioned(write, read, warm_write, warm_read)
    most = description.get("OnDemandThroughput") or {}
    return OnDemand(
        warm_write, warm_read, _limit(most.get("MaxWriteRequestUnits")), _limit(most.get("MaxReadRequestUnits"))
    )


def _limit(units: float | None) -> float | None:
    """-1 says that there is no maximum."""
    return units if units is not None and units > 0 else None
