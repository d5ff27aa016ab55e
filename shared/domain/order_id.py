"""Who an order is and where it lives.

The id is a keyed hash of what the buyer sent, so a repeated request meets its own first attempt, and nobody outside
can aim at a shard. The shard is a function of the id, so reading an order needs no look-up.
"""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from shared.domain.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

# 128 bits: no collision in a lifetime of sales, and short enough to read out on the phone.
ID_BYTES = 16
# A shard map grows at most twice: keys are honoured for the whole life of a sale, so no version is ever dropped, and
# each older one costs a moved order a read on the way in and a tombstone on the way out of the line.
MAX_MAP_VERSION = 3
_PATTERN = re.compile(r"\A([1-9][0-9]{0,2})-([0-9a-f]{32})\Z")


class OrderKey(Struct, frozen=True, order=True):
    """The full address of an order: its event, its shard and its public id."""

    event_id: str
    shard: int
    order_id: str

    @property
    def partition(self) -> str:
        """The composite partition key."""
        return partition_key(self.event_id, self.shard)


def partition_key(event_id: str, shard: int) -> str:
    """Write the composite key; an event id never contains `#`, so it cannot forge another one."""
    return f"{event_id}#{shard}"


def order_digest(salt: bytes, *, route: str, event_id: str, buyer_id: str, idempotency_key: str) -> bytes:
    """Return the 16 bytes that name the order of one idempotency key.

    Every part is length-prefixed, so no two different tuples share an encoding.
    """
    parts = [part.encode("utf-8") for part in (route, event_id, buyer_id, idempotency_key)]
    message = b"".join([len(part).to_bytes(4, "big") + part for part in parts])
    return hmac.digest(salt, message, "sha256")[:ID_BYTES]


def order_key(event_id: str, digest: bytes, shard_counts: Sequence[int], version: int) -> OrderKey:
    """Place a digest under version `version` (1-based) of the event's shard map.

    `shard_counts[version - 1]` is that version's shard count.
    """
    shard = int.from_bytes(digest, "big") % shard_counts[version - 1]
    return OrderKey(event_id, shard, f"{version}-{digest.hex()}")


def home_of(event_id: str, digest: bytes, shard_counts: Sequence[int]) -> OrderKey:
    """Place a digest under the newest version of the map.

    Where the last changes of the map did not move it, it keeps the address of the oldest version that gave it one.
    """
    shards = [int.from_bytes(digest, "big") % count for count in shard_counts]
    version = len(shards)
    while version > 1 and shards[version - 2] == shards[-1]:
        version -= 1
    return order_key(event_id, digest, shard_counts, version)


def older_homes(event_id: str, digest: bytes, shard_counts: Sequence[int]) -> tuple[OrderKey, ...]:
    """Return the other addresses at which a process with an older map would place the digest, newest first."""
    if len(shard_counts) == 1:
        return ()
    home = home_of(event_id, digest, shard_counts)
    homes = [home_of(event_id, digest, shard_counts[:version]) for version in range(len(shard_counts) - 1, 0, -1)]
    return tuple(dict.fromkeys(key for key in homes if key != home))


def locate_order(event_id: str, order_id: str, shard_counts: Sequence[int]) -> OrderKey:
    """Find the address of a public order id; NotFound when it is not one or its map version is not known (yet)."""
    version, digest = parse_order_id(order_id)
    if version > len(shard_counts):
        raise NotFound("No order has this id.")
    return order_key(event_id, digest, shard_counts, version)


def parse_order_id(order_id: str) -> tuple[int, bytes]:
    """Split a public id into map version and digest; NotFound when it has another form."""
    match = _PATTERN.match(order_id)
    if match is None:
        raise NotFound("No order has this id.")
    return int(match[1]), bytes.fromhex(match[2])
