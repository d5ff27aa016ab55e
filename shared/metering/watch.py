"""What the store and those who repeat its calls tell, counted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from shared.domain.errors import AnswerLost, Broken, Contended, Throttled, Unavailable
from shared.domain.throttling.request import OK, Ending, Request, Throttle, read_resource, safe_place
from shared.metering.ledger import Ledger
from shared.metering.meter import Meter
from shared.metrics import FIRST_ATTEMPT_S, GIVEN_UP, RETRYING_S
from shared.ports.system import Clock
from shared.retry import Attempt, Finished

_GIVEN_UP = frozenset({Throttled.code, Contended.code, AnswerLost.code, Unavailable.code})
_FAILED = _GIVEN_UP | {Broken.code}


class _Shape(Struct, frozen=True):
    operation: str
    table: str
    index: str = ""
    units: float = 1.0

    @property
    def writes(self) -> bool:
        return self.operation not in {"GetItem", "Query", "BatchGetItem"}


# What a call of the port is at DynamoDB, for stores that do not tell their requests themselves.
_SHAPES: Mapping[str, _Shape] = MappingProxyType(
    {
        "accept": _Shape("PutItem", "orders"),
        "get_order": _Shape("GetItem", "orders"),
        "save": _Shape("PutItem", "orders"),
        "due": _Shape("Query", "orders", "work"),
        "list_orders": _Shape("Query", "orders"),
        "depth": _Shape("Query", "orders", "work"),
        "release": _Shape("TransactWriteItems", "orders", units=2),
        "open_inventory": _Shape("TransactWriteItems", "inventory", units=2),
        "get_pool": _Shape("BatchGetItem", "inventory"),
        "buyer_counts": _Shape("BatchGetItem", "inventory"),
        "hold_batch": _Shape("TransactWriteItems", "inventory", units=2),
        "draw": _Shape("TransactWriteItems", "inventory", units=2),
        "give_back": _Shape("TransactWriteItems", "inventory", units=2),
        "decide_sold_out": _Shape("TransactWriteItems", "inventory", units=2),
        "reopen_pool": _Shape("TransactWriteItems", "inventory", units=2),
        "change_pool": _Shape("TransactWriteItems", "inventory", units=2),
        "create_sale": _Shape("TransactWriteItems", "control", units=2),
        "get_sale": _Shape("Query", "control"),
        "save_sale": _Shape("PutItem", "control"),
        "list_sales": _Shape("Query", "control"),
        "publish": _Shape("PutItem", "control"),
        "take_grant": _Shape("PutItem", "control"),
        "beat": _Shape("PutItem", "control"),
        "leave": _Shape("DeleteItem", "control"),
        "members": _Shape("Query", "control"),
        "audit": _Shape("PutItem", "control"),
        "list_audit": _Shape("Query", "control"),
        "note_check": _Shape("PutItem", "control"),
        "list_checks": _Shape("Query", "control"),
    }
)


@lru_cache(maxsize=4096)
def _request_of(method: str, key: str) -> Request:
    shape = _SHAPES.get(method) or _Shape(method, "other")
    place = safe_place(key)
    return Request(shape.operation, shape.table, shape.index, place, shape.writes, demand={place: shape.units})


class Watch:
    """One process's meter and ledger, and the two ways in which they learn of attempts.

    A store that sends requests of its own tells each to `ledger`: one call of the port may be several, and a
    cancelled transaction may hide a throttle. For any other store, an attempt of a call counts as one request.
    """

    def __init__(self, clock: Clock) -> None:
        """Begin at nothing."""
        self.meter = Meter()
        self.ledger = Ledger(clock, self.meter)

    def attempted(self, attempt: Attempt) -> None:
        """Count an attempt as a request; an observer for `shared.retry`."""
        request = _request_of(attempt.method, attempt.place)
        throttle = None
        if attempt.outcome == Throttled.code:
            table, index = read_resource(attempt.resource) or (request.table, request.index)
            throttle = Throttle(table, index, request.place, attempt.reason)
        # That something is not there, or breaks a rule, is an answer.
        self.ledger.note(request, Ending(attempt.outcome, throttle) if attempt.outcome in _FAILED else OK)

    def finished(self, call: Finished) -> None:
        """Note how a call of the port was spent: its first attempt, and what came after it."""
        self.meter.time(FIRST_ATTEMPT_S, call.first_s, call.method)
        if call.attempts > 1:
            self.meter.time(RETRYING_S, call.retrying_s, call.method)
        if call.outcome in _GIVEN_UP:
            self.meter.count(GIVEN_UP, call.method, call.outcome)
