"""What a sale asks of the store per second and in all, in capacity units."""

from __future__ import annotations

import math
from dataclasses import dataclass

from infra.model.item_size import write_units
from infra.model.plan_request import PlanRequest

_SLICE_ORDERS = 49
"""Orders of one allocating transaction, the slice itself being the fiftieth action."""
ALLOCATED_PER_SLICE_S = 500


@dataclass(frozen=True, slots=True)
class OrderUnits:
    """(table, index) write units of the steps of one order's life.

    An accept writes both once. Held: a transaction that moves the order between the lanes of the index,
    which is a key change (two index writes). Confirmed and rejected: one write each in both.
    """

    accept: tuple[float, float]
    hold: tuple[float, float]
    confirm: tuple[float, float]
    reject: tuple[float, float]


def order_units(request: PlanRequest) -> OrderUnits:
    """Units of each step at the request's item size; transactional table writes cost double.

    Sources: "DynamoDB read and write operations", "Using Global Secondary Indexes in DynamoDB" (write
    costs), "Managing complex workflows with DynamoDB transactions".
    """
    item = float(write_units(request.item_bytes))
    doubled = float(write_units(request.item_bytes, transactional=True))
    held = doubled + 2 / _SLICE_ORDERS + (2.0 if request.buyer_limit else 0.0)
    key_change = 2.0 * request.assumed.index_transaction_factor
    return OrderUnits((item, 1.0), (held, key_change), (item, 1.0), (item, 1.0))


@dataclass(frozen=True, slots=True)
class Demand:
    """Load at the peak. `requests_per_s` counts orders accepted and orders settled alike."""

    requests_per_s: float
    table_units_per_s: float
    index_units_per_s: float
    allocate_per_s: float
    settle_per_s: float


def slices_for(request: PlanRequest) -> int:
    """One slice allocates about 500 orders a second; more are cut only for more, and never below 500 seats each."""
    wanted = request.seats / request.allocate_within_s
    most = max(1, request.seats // ALLOCATED_PER_SLICE_S)
    return max(1, min(math.ceil(wanted / ALLOCATED_PER_SLICE_S), most))


def demand_of(request: PlanRequest) -> Demand:
    """Door and workers together, both at full pace."""
    units = order_units(request)
    allocate = min(request.seats / request.allocate_within_s, slices_for(request) * ALLOCATED_PER_SLICE_S)
    allocate = min(allocate, request.peak_per_s)
    settle = max(allocate, request.consumer_share * request.peak_per_s)
    reject = settle - allocate
    table, index = (
        request.peak_per_s * units.accept[i] + allocate * (units.hold[i] + units.confirm[i]) + reject * units.reject[i]
        for i in (0, 1)
    )
    return Demand(request.peak_per_s + settle, table, index, allocate, settle)
