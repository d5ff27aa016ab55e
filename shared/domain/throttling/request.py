"""One attempt at a back end, and how it ended; alike for every store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, field

# The place of a request that weighs on several keys at once.
SEVERAL = "several"
# A batch read that leaves keys unread says no reason; this is ours for it.
UNPROCESSED = "UnprocessedKeys"
# Attempts are told in steps of so many seconds.
BUCKET_S = 5
_BUYER = re.compile(r"\A([^#/]+)#buyer/")
_ARN = re.compile(r"(?:.*:)?table/([^/]+)(?:/index/([^/]+))?\Z")


class Request(Struct, frozen=True):
    """What was asked: `operation` on `table` (its part after the prefix) and `index` (empty: the table itself).

    `place` is the one partition key that it weighs on, or SEVERAL. `demand` has the capacity units that it asks for,
    estimated, by partition key.
    """

    operation: str
    table: str
    index: str
    place: str
    writes: bool
    demand: Mapping[str, float] = field(default_factory=dict)


class Throttle(Struct, frozen=True):
    """A refusal for want of capacity: which table, index and key, and the reason that the back end gives."""

    table: str
    index: str
    place: str
    reason: str


class Ending(Struct, frozen=True):
    """How an attempt ended: `ok`, or the code of its error; with the throttle when it was one."""

    outcome: str
    throttle: Throttle | None = None


OK = Ending("ok")


def safe_place(key: str) -> str:
    """Write a partition key as it may be shown: a buyer's counter is named without the buyer."""
    match = _BUYER.match(key) if "#buyer/" in key else None
    return f"{match[1]}#buyer" if match else key


@lru_cache(maxsize=4096)
def event_of(place: str) -> str:
    """Return the event a place belongs to, empty when it is nobody's."""
    if place == SEVERAL:
        return ""
    parts = re.split("[#/]", place)
    return parts[1] if parts[0] == "sale" and len(parts) > 1 else parts[0] if len(parts) > 1 else ""


def read_resource(resource: str) -> tuple[str, str] | None:
    """Read table role and index out of a resource's ARN or name; None when it is neither.

    Source: "ThrottlingReason" in the DynamoDB API Reference.
    """
    match = _ARN.match(resource)
    if match is not None:
        return table_role(match[1]), match[2] or ""
    return (table_role(resource), "") if resource and ":" not in resource else None


def table_role(name: str) -> str:
    """Return a table's name without the deployment's prefix."""
    return name.rpartition("-")[2]
