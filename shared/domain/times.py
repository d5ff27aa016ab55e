"""Times: milliseconds since the epoch inside, RFC 3339 with an offset outside."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from shared.domain.errors import Invalid

# Thirteen digits hold every millisecond until the year 2286 and sort as text.
TIME_DIGITS = 13
MAX_TIME_MS = 10**TIME_DIGITS - 1


def parse_time_ms(text: str, field: str = "time") -> int:
    """Read an RFC 3339 time; Invalid without an offset, for it would mean another moment in every office."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{text!r} is not an RFC 3339 time such as 2027-03-01T10:00:00+01:00.", field=field) from None
    return moment_ms(moment, field)


def moment_ms(moment: datetime, field: str = "time") -> int:
    """Turn an aware datetime into milliseconds; Invalid when it has no offset or lies before 1970."""
    if moment.tzinfo is None:
        raise Invalid(f"{moment.isoformat()} has no offset; write +00:00 or Z for UTC.", field=field)
    whole = int(moment.timestamp() // 1) * 1000 + moment.microsecond // 1000
    if not 0 <= whole <= MAX_TIME_MS:
        raise Invalid(f"{moment.isoformat()} lies outside 1970 to 2286.", field=field)
    return whole


def format_time_ms(at_ms: int) -> str:
    """Write milliseconds as RFC 3339 in UTC, always with three decimals so that text order is time order."""
    seconds, ms = divmod(at_ms, 1000)
    return f"{_format_s(seconds)}.{ms:03d}Z"


@lru_cache(maxsize=64)
def _format_s(at_s: int) -> str:
    """Write whole seconds, of which a rush brings the same again and again."""
    return datetime.fromtimestamp(at_s, tz=UTC).isoformat(timespec="seconds").removesuffix("+00:00")


def sortable_ms(at_ms: int) -> str:
    """Write milliseconds with a fixed width, for keys that sort by time."""
    if not 0 <= at_ms <= MAX_TIME_MS:
        raise Invalid(f"{at_ms} lies outside the times a key can hold.", field="time")
    return f"{at_ms:0{TIME_DIGITS}d}"
