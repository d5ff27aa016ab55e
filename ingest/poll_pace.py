"""When a buyer should look again: not before the likely turn, within a read budget, never all at once."""

from __future__ import annotations

from ingest.place_line import LinePlace
from shared.domain.order import FINAL, Order, Status
from shared.domain.sale import Sale
from shared.ports import Ids, Notice

MIN_POLL_S = 1.0
MAX_POLL_S = 30.0
# What a sale's waiting buyers may read per second in all: a third of one partition's reads, whatever the shard count.
READS_PER_S = 1_000
# A buyer must learn of the hold while enough of it is left to pay.
LOOKS_PER_HOLD = 4
JITTER = 0.25


def poll_after_s(order: Order, sale: Sale, notice: Notice | None, place: LinePlace | None, ids: Ids) -> float | None:
    """Return seconds until the next useful look, between 1 and 30; None when nothing will change."""
    if order.status in FINAL:
        return None
    wanted_s = MIN_POLL_S
    if order.status is Status.QUEUED and notice is not None:
        wanted_s = max(wanted_s, notice.waiting / READS_PER_S)
        if place is not None and place.turn_s is not None:
            wanted_s = max(wanted_s, place.turn_s)
    most_s = min(MAX_POLL_S, max(MIN_POLL_S, sale.hold_ttl_s / LOOKS_PER_HOLD))
    bounded_s = min(wanted_s, most_s)
    return round(max(MIN_POLL_S, min(bounded_s * (1 + JITTER * ids.fraction()), most_s)), 3)
