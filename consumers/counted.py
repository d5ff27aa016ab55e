"""What workers did, as metrics: the event's id is left out, for it is one of many."""

from __future__ import annotations

from shared.domain.order import Status
from shared.metering.meter import Meter
from shared.metrics import OLDEST_WAITING, STEPS, WAITING, WORKER_NOTES
from shared.ports.control import ControlStore

# What moved an order; everything else is a note.
_STEPS = frozenset({*Status, "rejoined", "declined", "refund_owed", "parked", "failed"})


class Counted:
    """Counts by deed; fits `tools.Observer`."""

    def __init__(self, meter: Meter) -> None:
        """Count on `meter`."""
        self._meter = meter

    def add(self, event_id: str, what: str, count: int) -> None:  # noqa: ARG002 - as the observer is called
        """Count."""
        if count:
            self._meter.count(STEPS if what in _STEPS else WORKER_NOTES, what, by=count)


def measure_lines(meter: Meter, store: ControlStore, now_ms: int) -> None:
    """Set the gauges of who waits, over all sales, from what workers last published. Unavailable as the store has it.

    Some seconds old, as notices are; a sale without one counts as nobody waiting.
    """
    notices = [view.notice for view in store.list_sales() if view.notice is not None]
    heads = [notice.head_ms for notice in notices if notice.waiting and notice.head_ms is not None]
    meter.put(WAITING, sum(notice.waiting for notice in notices))
    meter.put(OLDEST_WAITING, max((max(0, now_ms - head_ms) / 1000 for head_ms in heads), default=0.0))
