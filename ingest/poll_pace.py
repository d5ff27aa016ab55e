"""When a buyer should look again: not before the likely turn, within a read budget, never all at once."""

from __future__ import annotations

from ingest.place_line import LinePlace
from shared.domain.order import FINAL, Order, Status
from shared.domain.sale import Sale
from shared.ports.control import Notice
from shared.ports.system import Ids

MIN_POLL_S = 1.0
MAX_POLL_S = 30.0
# What a sale's waiting buyers may read per second in all: a third of one partition's reads, whatever the shard count.
READS_PER_S = 1_000
# A buyer who pays by hand must learn of the hold while enough of it is left; a named card is charged without them.
LOOKS_PER_HOLD = 4
JITTER = 0.25


def poll_after_s(
    order: Order,
    sale: Sale,
    notice: Notice | None,
    place: LinePlace | None,
    ids: Ids,
    *,
    reads_per_s: float = READS_PER_S,
) -> float | None:
    """Return seconds until the next useful look, between 1 and 30; None when nothing will change."""
    if order.status in FINAL:
        return None
    wanted_s = MIN_POLL_S
    if order.status is Status.QUEUED and notice is not None:
        wanted_s = max(wanted_s, notice.waiting / reads_per_s)
        if place is not None and place.turn_s is not None:
            wanted_s = max(wanted_s, place.turn_s)
    most_s = MAX_POLL_S
    if order.payment.method is None:
        most_s = min(most_s, max(MIN_POLL_S, sale.hold_ttl_s / LOOKS_PER_HOLD))
    # Where the bound cuts in, the jitter lies below it: those who may wait longest must not come back together.
    bounded_s = min(wanted_s, most_s / (1 + JITTER))
    return round(max(MIN_POLL_S, bounded_s * (1 + JITTER * ids.fraction())), 3)
