"""Key designs that make one partition hot however much the table could take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from shared.domain.stats.top_counts import Row

# Fewer writes than this in a range say nothing about a design.
MIN_WRITES = 1_000
# What one key or name may take of all writes before it is pointed out.
MAX_SHARE = 0.10
_DATE = re.compile(r"(?<![0-9])(20[0-9]{2})-?([01][0-9])-?([0-3][0-9])(?![0-9])")
_EPOCH = re.compile(r"(?<![0-9])(1[0-9]{9}|1[0-9]{12}|2[0-9]{9}|2[0-9]{12})(?![0-9])")
_SUFFIX = re.compile(r"#[0-9]{1,4}\Z")
_SECONDS_DIGITS = 10
_DAY_MS = 86_400_000


class Pattern(StrEnum):
    """A kind of design."""

    TIME_BUCKET = "time-bucket"
    LOW_CARDINALITY = "low-cardinality"


class Flag(Struct, frozen=True):
    """A pattern that was met, the key it was met in (empty: all of them), and what it means."""

    pattern: Pattern
    key: str
    sentence: str


def find_patterns(keys: Mapping[str, Row], *, writes: int, partitions: int, now_ms: int) -> tuple[Flag, ...]:
    """Look for keys that are a piece of time, and for too few keys in use.

    `keys` are the counted keys of a range with `writes` in all.
    """
    if writes < MIN_WRITES:
        return ()
    flags = [
        Flag(
            Pattern.TIME_BUCKET,
            key,
            f"{key} names the present time and takes {row.writes / writes:.0%} of all writes: whatever happens at one "
            "moment meets on one key. Add a suffix that spreads it.",
        )
        for key, row in sorted(keys.items(), key=lambda entry: -entry[1].writes)
        if row.writes > writes * MAX_SHARE and not _spread(key, keys) and _names_time(key, now_ms)
    ]
    in_use = effective_keys(keys)
    if in_use and round(in_use) < partitions:
        flags.append(
            Flag(
                Pattern.LOW_CARDINALITY,
                "",
                f"The writes fall on {in_use:.1f} keys in effect, fewer than the table's {partitions} partitions: the "
                "rest of the table idles. Use more shards.",
            )
        )
    return tuple(flags)


def effective_keys(keys: Mapping[str, Row]) -> float:
    """Return how many evenly used keys would be as concentrated as these.

    The inverse of Simpson's index, a Hill number of order 2: Hill, "Diversity and evenness", Ecology 54 (1973).
    """
    total = sum(row.writes for row in keys.values())
    squares = sum(row.writes**2 for row in keys.values())
    return total**2 / squares if squares else 0.0


def _spread(key: str, keys: Mapping[str, Row]) -> bool:
    """Say whether the key is one of several suffixes of the same name: then it is spread already."""
    stem = _SUFFIX.sub("#", key)
    return stem != key and any(other != key and _SUFFIX.sub("#", other) == stem for other in keys)


def _names_time(key: str, now_ms: int) -> bool:
    """Say whether a part of the key is a date or an epoch time within a day of now."""
    times = [_date_ms(*map(int, match.groups())) for match in _DATE.finditer(key)]
    times += [int(text) * (1000 if len(text) == _SECONDS_DIGITS else 1) for text in _EPOCH.findall(key)]
    return any(at_ms is not None and -_DAY_MS <= now_ms - at_ms < 2 * _DAY_MS for at_ms in times)


def _date_ms(year: int, month: int, day: int) -> int | None:
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None
