"""A waiting order's place in line: an estimate from the workers' notice, with its age, at no further read."""

from __future__ import annotations

from msgspec import Struct

from shared.domain.order import Order, Status
from shared.ports.control import Notice


class LinePlace(Struct, frozen=True):
    """About `ahead` orders stood before this one at `as_of_ms`; at the recent pace its turn comes in `turn_s`.

    `turn_s` is None while nothing moves.
    """

    ahead: int
    as_of_ms: int
    turn_s: float | None


def estimate_place(order: Order, notice: Notice | None) -> LinePlace | None:
    """Interpolate between the first and the last waiting order's times of acceptance; None when nothing is known."""
    if order.status is not Status.QUEUED or notice is None:
        return None
    ahead = _ahead(order.accepted_at_ms, notice)
    turn_s = ahead / notice.drained_per_s if notice.drained_per_s > 0 else None
    return LinePlace(ahead, notice.at_ms, turn_s)


def _ahead(accepted_at_ms: int, notice: Notice) -> int:
    if notice.head_ms is None or notice.newest_ms is None or accepted_at_ms <= notice.head_ms:
        return 0
    if accepted_at_ms >= notice.newest_ms:
        return notice.waiting
    return round(notice.waiting * (accepted_at_ms - notice.head_ms) / (notice.newest_ms - notice.head_ms))
