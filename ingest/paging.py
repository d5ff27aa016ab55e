"""Cursors over several shards as opaque text: where to go on, and nothing that has to be kept here."""

from __future__ import annotations

import base64
import binascii
import json

from msgspec import Struct

from shared.domain.errors import Invalid
from shared.domain.sale import MAX_SHARDS, is_name
from shared.domain.times import MAX_TIME_MS

MAX_CURSOR_CHARS = 600
_MAX_INNER_CHARS = 200


class Position(Struct, frozen=True):
    """The next shard to read, from `inner` on, and the time that the whole walk is bounded by."""

    event_id: str
    shard: int
    inner: str | None
    until_ms: int

    def __str__(self) -> str:
        """Write it as opaque text."""
        plain = json.dumps([self.event_id, self.shard, self.inner, self.until_ms], separators=(",", ":"))
        return base64.urlsafe_b64encode(plain.encode("utf-8")).decode("ascii").rstrip("=")


def read_position(text: str) -> Position:
    """Read a position back; Invalid when it is none of ours."""
    try:
        plain = base64.b64decode(text[:MAX_CURSOR_CHARS] + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        position = Position(*json.loads(plain))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise _foreign() from None
    if not _is_ours(position):
        raise _foreign()
    return position


def _is_ours(position: Position) -> bool:
    """Look at what came from outside as if it had no types, for it has none."""
    event_id: object = position.event_id
    inner: object = position.inner
    return (
        isinstance(event_id, str)
        and is_name(event_id)
        and _is_within(position.shard, MAX_SHARDS - 1)
        and _is_within(position.until_ms, MAX_TIME_MS)
        and (inner is None or (isinstance(inner, str) and 0 < len(inner) <= _MAX_INNER_CHARS and inner.isascii()))
    )


def _is_within(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _foreign() -> Invalid:
    return Invalid("This cursor is none of ours; begin again without one.", field="cursor", code="bad-cursor")
