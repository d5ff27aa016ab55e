"""The plainest sale there is: one pool, one ticket type, as the API takes it."""

from __future__ import annotations

from typing import Any

from shared.domain.times import format_time_ms, parse_time_ms
from shared.system import SystemClock

WEEK_MS = 7 * 86_400_000


def one_pool_sale(
    event_id: str,
    *,
    seats: int,
    name: str | None = None,
    price: str = "25.00",
    currency: str = "EUR",
    opens_at: str | None = None,
    closes_at: str | None = None,
    **limits: int | None,
) -> dict[str, Any]:
    """Write the definition; `limits` are further members of it (`shards`, `slices`, `hold_ttl_s`, …), None left out."""
    opens_at = opens_at or format_time_ms(SystemClock().now_ms())
    closes_at = closes_at or format_time_ms(parse_time_ms(opens_at, "opens_at") + WEEK_MS)
    slices = limits.pop("slices", None) or 1
    return {
        "event_id": event_id,
        "name": name or event_id,
        "currency": currency,
        "opens_at": opens_at,
        "closes_at": closes_at,
        "pools": [{"pool_id": "floor", "capacity": seats, "slices": slices}],
        "ticket_types": [{"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", "price": price}],
        **{member: value for member, value in limits.items() if value is not None},
    }
