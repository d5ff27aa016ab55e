"""One record of the stream, read.

Shape: "Amazon DynamoDB Streams API Reference", Record and StreamRecord, as a Lambda function gets it: values under
their type's letter, `ApproximateCreationDateTime` a number of seconds, on AWS whole ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.domain.errors import Broken
from shared.domain.order import Lane, Status
from shared.domain.times import MAX_TIME_MS

MAX_SEQUENCE_DIGITS = 40
# Names in statistics are keys and subjects, both at most 321 bytes; anything longer is foreign, and stands shortened.
MAX_NAME_CHARS = 330
# How a change's before and after are called when there was, or is, no order.
ABSENT, REMOVED = "new", "removed"

_SEQUENCE = re.compile(rf"\A[0-9]{{1,{MAX_SEQUENCE_DIGITS}}}\Z")
_COMPOSITE = re.compile(r"\A([^#]+)#([0-9]{1,4})\Z")
_IN_LINE = f"{Lane.LINE}#"
_PARKED = f"{Lane.PARKED}#"
_STATUSES = frozenset(map(str, Status))
_EVENT_NAMES = frozenset({"INSERT", "MODIFY", "REMOVE"})


class Unreadable(Broken):
    """The stream record cannot be read; look at it where the event source leaves what it gave up."""

    code = "unreadable-record"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a stored item.

    `key` is the composite partition key, `event_id` is None when the key is of another form. `before` and `after` are
    statuses, ABSENT or REMOVED, both None when the item is not an order. `depth` is +1 when an order joined the line,
    -1 when one left it; `parked` likewise for those that are set aside.
    """

    sequence: int
    at_ms: int
    key: str
    event_id: str | None
    shard: int
    buyer_id: str | None
    before: str | None
    after: str | None
    depth: int
    parked: int

    @property
    def arrived(self) -> bool:
        """Say whether this is a new order."""
        return self.before == ABSENT


def sequence_of(record: object) -> str | None:
    """Return the record's sequence number as it stands there, or None when it has none that can be reported."""
    change = record.get("dynamodb") if isinstance(record, Mapping) else None
    text = change.get("SequenceNumber") if isinstance(change, Mapping) else None
    return text if isinstance(text, str) and _SEQUENCE.match(text) else None


def read_record(record: Mapping[str, Any]) -> Change:
    """Read a record that has a sequence number; Unreadable with the reason, which never shows what is stored."""
    try:
        return _read(record)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise Unreadable(f"The record lacks a readable part ({type(error).__name__}).") from error


def _read(record: Mapping[str, Any]) -> Change:
    name = record["eventName"]
    if name not in _EVENT_NAMES:
        raise Unreadable("The record's eventName is unknown.")
    change = record["dynamodb"]
    old = None if name == "INSERT" else _image(change, "OldImage")
    new = None if name == "REMOVE" else _image(change, "NewImage")
    key = _short(_text(change["Keys"], "pk"))
    match = _COMPOSITE.match(key)
    image = new if new is not None else old
    is_order = image is not None and "status" in image
    return Change(
        sequence=int(change["SequenceNumber"]),
        at_ms=_time_ms(change["ApproximateCreationDateTime"]),
        key=key,
        event_id=match[1] if match else None,
        shard=int(match[2]) if match else 0,
        buyer_id=_short(_text(image, "buyer")) if is_order and image is not None else None,
        before=_status(old, ABSENT) if is_order else None,
        after=_status(new, REMOVED) if is_order else None,
        depth=_in_lane(new, _IN_LINE) - _in_lane(old, _IN_LINE),
        parked=_in_lane(new, _PARKED) - _in_lane(old, _PARKED),
    )


def _image(change: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    image = change.get(name)
    if not isinstance(image, Mapping):
        raise Unreadable(f"The record has no {name}; the stream must show new and old images.")
    return image


def _text(item: Mapping[str, Any], name: str) -> str:
    text = item[name]["S"]
    if not isinstance(text, str) or not text:
        raise Unreadable(f"The record's {name} is not a text.")
    return text


def _status(image: Mapping[str, Any] | None, absent: str) -> str:
    """Read a status; an item that becomes an order, such as a tombstone that is filled, was none before."""
    if image is None or "status" not in image:
        return absent
    status = _text(image, "status")
    if status not in _STATUSES:
        raise Unreadable("The record's status is unknown.")
    return status


def _in_lane(image: Mapping[str, Any] | None, lane: str) -> int:
    if image is None or "work" not in image:
        return 0
    return int(_text(image, "work").startswith(lane))


def _time_ms(seconds: object) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unreadable("The record's time is not a number.")
    at_ms = round(seconds * 1000)
    if not 0 <= at_ms <= MAX_TIME_MS:
        raise Unreadable("The record's time lies outside 1970 to 2286.")
    return at_ms


def _short(name: str) -> str:
    if len(name) <= MAX_NAME_CHARS:
        return name
    return f"{name[:64]}…{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()}"
