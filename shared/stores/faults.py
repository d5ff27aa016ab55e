"""A store that fails on demand, as DynamoDB does on a bad day and no emulator does at all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from shared.domain.errors import AnswerLost, Contended, Throttled, Unavailable
from shared.ports.orders import HintPage, OrderPage
from shared.stores.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.domain.order import Lane
    from shared.ports.store import Store
    from shared.ports.system import Ids

T = TypeVar("T")


class Fault(StrEnum):
    """What may go wrong with one call."""

    THROTTLED = "throttled"
    CONTENDED = "contended"
    UNAVAILABLE = "unavailable"
    LOST_BEFORE = "lost_before"
    """The answer is lost, and nothing was applied."""
    LOST_AFTER = "lost_after"
    """The answer is lost, and the call was applied."""
    HINTS_LATE = "hints_late"
    """The index shows what it showed at the head of the lane when it was last asked, or not yet the newest half."""
    HINTS_REPEATED = "hints_repeated"
    HINTS_REORDERED = "hints_reordered"
    SHORT_PAGE = "short_page"
    EMPTY_PAGE = "empty_page"
    """A page without entries, and a cursor to the same place."""


_HINTS = frozenset({Fault.HINTS_LATE, Fault.HINTS_REPEATED, Fault.HINTS_REORDERED})
_PAGES = frozenset({Fault.SHORT_PAGE, Fault.EMPTY_PAGE})
_READS = frozenset(
    {"get_order", "due", "list_orders", "depth", "get_pool", "buyer_counts", "get_sale", "list_sales", "members"}
    | {"list_audit", "list_checks"}
)
# What a throttled call says; see "ThrottlingReason" in the DynamoDB API reference.
_THROTTLE_REASONS = (
    "KeyRangeThroughputExceeded",
    "ProvisionedThroughputExceeded",
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
)


class Schedule(Protocol):
    """Decides what goes wrong."""

    def fault(self, method: str, call: int) -> Fault | None:
        """Return the fault of the `call`-th call of `method`, counted from 1, or None."""
        ...


class Script:
    """An exact schedule: `{("save", 2): Fault.LOST_AFTER}` loses the answer to the second save."""

    def __init__(self, faults: Mapping[tuple[str, int], Fault]) -> None:
        """Take the faults by method and number of the call."""
        self._faults = dict(faults)

    def fault(self, method: str, call: int) -> Fault | None:
        """Return what is written for this call."""
        return self._faults.get((method, call))


class Chance:
    """A random schedule: every fault has a probability a call; what does not fit a method does not happen to it."""

    def __init__(self, ids: Ids, rates: Mapping[Fault, float]) -> None:
        """Throw dice from `ids`; the sum of `rates` is at most 1."""
        self._ids = ids
        self._rates = dict(rates)
        self._lock = threading.Lock()

    def fault(self, method: str, call: int) -> Fault | None:  # noqa: ARG002 - chance has no memory
        """Throw once."""
        with self._lock:
            left = self._ids.fraction()
        for fault, rate in self._rates.items():
            left -= rate
            if left < 0:
                return fault if _fits(fault, method) else None
        return None


class FaultyStore(WrappedStore):
    """Stands before `inner` and lets its calls fail as `schedule` says; `calls` counts them by method."""

    def __init__(self, inner: Store, schedule: Schedule, *, table: str = "onsale-orders") -> None:
        """Name `table` as the resource of throttles."""
        super().__init__(inner)
        self._schedule = schedule
        self._table = table
        self._lock = threading.Lock()
        self._shown: dict[tuple[object, ...], HintPage] = {}
        self.calls: Counter[str] = Counter()
        self.faults: Counter[Fault] = Counter()

    def due(
        self, event_id: str, shard: int, lane: Lane, *, until_ms: int, limit: int, cursor: str | None = None
    ) -> HintPage:
        fault = self._next("due")
        if fault is Fault.EMPTY_PAGE:
            return HintPage((), _mark(_unmark(cursor) or ""))
        asked = _shorter(limit) if fault is Fault.SHORT_PAGE else limit
        page = self._suffer(
            "due",
            fault,
            lambda: self._inner.due(event_id, shard, lane, until_ms=until_ms, limit=asked, cursor=_unmark(cursor)),
        )
        page = HintPage(page.hints, _mark(page.cursor))
        return self._bend(page, fault, limit, (event_id, shard, lane, limit) if cursor is None else None)

    def list_orders(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> OrderPage:
        fault = self._next("list_orders")
        if fault is Fault.EMPTY_PAGE:
            return OrderPage((), _mark(_unmark(cursor) or ""))
        asked = _shorter(limit) if fault is Fault.SHORT_PAGE else limit
        page = self._suffer(
            "list_orders",
            fault,
            lambda: self._inner.list_orders(event_id, shard, limit=asked, cursor=_unmark(cursor)),
        )
        return OrderPage(page.orders, _mark(page.cursor))

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:  # noqa: ARG002 - faults fall anywhere
        return self._suffer(method, self._next(method), run)

    def _next(self, method: str) -> Fault | None:
        with self._lock:
            self.calls[method] += 1
            fault = self._schedule.fault(method, self.calls[method])
            if fault is not None:
                if not _fits(fault, method):
                    raise ValueError(f"{fault} cannot happen to {method}")
                self.faults[fault] += 1
            return fault

    def _suffer(self, method: str, fault: Fault | None, run: Callable[[], T]) -> T:
        match fault:
            case Fault.THROTTLED:
                raise self._throttled(method)
            case Fault.CONTENDED:
                raise Contended
            case Fault.UNAVAILABLE:
                raise Unavailable
            case Fault.LOST_BEFORE:
                raise AnswerLost
            case Fault.LOST_AFTER:
                run()
                raise AnswerLost
            case _:
                return run()

    def _throttled(self, method: str) -> Throttled:
        part = "Index" if method in {"due", "depth"} or self.calls[method] % 2 else "Table"
        way = "Read" if method in _READS else "Write"
        reason = _THROTTLE_REASONS[self.faults[Fault.THROTTLED] % len(_THROTTLE_REASONS)]
        resource = f"table/{self._table}" + ("/index/work" if part == "Index" else "")
        return Throttled(reason=f"{part}{way}{reason}", resource=resource)

    def _bend(self, page: HintPage, fault: Fault | None, limit: int, head: tuple[object, ...] | None) -> HintPage:
        """Spoil a page; `head` names the lane when the page is its beginning, which alone is remembered."""
        before = None
        if head is not None:
            with self._lock:
                before = self._shown.get(head)
                self._shown[head] = page
        match fault:
            case Fault.HINTS_LATE:
                return before or HintPage(page.hints[: len(page.hints) // 2], page.cursor)
            case Fault.HINTS_REPEATED:
                return HintPage((page.hints[:1] + page.hints)[:limit], page.cursor)
            case Fault.HINTS_REORDERED:
                return HintPage(page.hints[::-1], page.cursor)
            case _:
                return page


def _fits(fault: Fault, method: str) -> bool:
    if fault in _HINTS:
        return method == "due"
    if fault in _PAGES:
        return method in {"due", "list_orders"}
    return fault is not Fault.CONTENDED or method not in _READS


def _shorter(limit: int) -> int:
    return max(1, limit // 2)


# Our cursors carry the inner store's behind a sign, so that one can also stand before the first entry.
def _mark(cursor: str | None) -> str | None:
    return None if cursor is None else f">{cursor}"


def _unmark(cursor: str | None) -> str | None:
    return cursor[1:] or None if cursor is not None else None
