"""Statistics as both stores keep them: counts as compressed JSON, for every write of a window pays for its size."""

from __future__ import annotations

import json
import zlib
from typing import Any

from shared.domain.errors import Broken
from shared.domain.stats.states import Steps
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import Counts

# Fast rather than small: level 1 halves a window, level 9 saves another tenth for four times the time.
_LEVEL = 1


def pack_counts(counts: Counts) -> bytes:
    """Write counts."""
    value = {
        "writes": counts.writes,
        "arrivals": counts.arrivals,
        "keys": _top_value(counts.keys),
        "events": _top_value(counts.events),
        "buyers": _top_value(counts.buyers),
        "changes": counts.changes,
    }
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8"), _LEVEL)


def unpack_counts(data: bytes) -> Counts:
    """Read counts back; Broken when they are none."""
    try:
        value = json.loads(zlib.decompress(data))
        return Counts(
            writes=value["writes"],
            arrivals=value["arrivals"],
            keys=_read_top(value["keys"]),
            events=_read_top(value["events"]),
            buyers=_read_top(value["buyers"]),
            changes=value["changes"],
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise Broken(f"A stored window of statistics cannot be read: {error!r}.") from error


def pack_steps(counts: Steps) -> bytes:
    """Write counts of orders by shard and status."""
    return zlib.compress(json.dumps(counts, separators=(",", ":")).encode("utf-8"), _LEVEL)


def unpack_steps(data: bytes) -> dict[int, dict[str, int]]:
    """Read them back; Broken when they are none."""
    try:
        return {int(shard): dict(row) for shard, row in json.loads(zlib.decompress(data)).items()}
    except (zlib.error, ValueError, TypeError, AttributeError) as error:
        raise Broken(f"Stored counts of orders cannot be read: {error!r}.") from error


def pack_shard(shard: StreamShard) -> str:
    """Write what is remembered of a stream shard besides its name, newest minute and `rev`."""
    refused = {str(number): why for number, why in shard.refused.items()}
    return json.dumps({"refused": refused, "total": shard.refused_total, "upto": str(shard.refused_upto)})


def unpack_shard(name: str, newest_ms: int, rev: int, text: str) -> StreamShard:
    """Read it back; Broken when it is none."""
    try:
        value = json.loads(text)
        return StreamShard(
            name=name,
            newest_ms=newest_ms,
            refused={int(number): why for number, why in value["refused"].items()},
            refused_total=value["total"],
            refused_upto=int(value["upto"]),
            rev=rev,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Broken(f"What is stored of the stream shard {name!r} cannot be read: {error!r}.") from error


def pack_numbers(numbers: frozenset[int]) -> str:
    """Write sequence numbers, which are longer than either store's numbers."""
    return " ".join(str(number) for number in sorted(numbers))


def unpack_numbers(text: str) -> frozenset[int]:
    """Read sequence numbers back."""
    return frozenset(int(number) for number in text.split())


def _top_value(top: TopCounts) -> list[Any]:
    return [top.missed, {name: list(row) for name, row in top.rows.items()}]


def _read_top(value: list[Any]) -> TopCounts:
    missed, rows = value
    return TopCounts({name: Row(*row) for name, row in rows.items()}, missed)
