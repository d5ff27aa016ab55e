"""What a store takes at most: checked by the port before any write, alike for every store.

Figures: "Service, account, and table quotas in Amazon DynamoDB" and "DynamoDB item sizes and formats".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.ports.inventory import HoldBatch

MAX_ITEM_BYTES = 409_600
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024
MAX_ACTIONS = 100
# Orders a transaction, with room left for slices of a few pools: an order takes one action, or two with its
# buyer's counter.
MAX_BATCH = 49
# Keys that one read of many takes.
MAX_KEYS = 100
# What one write unit pays for, and what an accepted order is at most in the usual case.
USUAL_ORDER_BYTES = 1024


def item_bytes(value: Any) -> int:  # noqa: ANN401 - any stored value
    """Count an item as DynamoDB does: UTF-8 bytes of names and values, about a byte per two digits of a number."""
    if isinstance(value, str):
        return len(value.encode("utf-8"))
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int):
        return (len(str(abs(value))) + 1) // 2 + 1 + (value < 0)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return 3 + sum(len(name.encode("utf-8")) + item_bytes(part) + 1 for name, part in value.items())
    if isinstance(value, list | tuple):
        return 3 + sum(item_bytes(part) + 1 for part in value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


def whole_item_bytes(item: dict[str, Any]) -> int:
    """Count a whole item: its top level has no overhead of its own."""
    return sum(len(name.encode("utf-8")) + item_bytes(value) for name, value in item.items())


def check_item(item: dict[str, Any]) -> None:
    """Raise Invalid before the store would: too large an item, an empty or too long key."""
    try:
        size = whole_item_bytes(item)
    except UnicodeEncodeError:
        raise Invalid("The text has half a character (a lone surrogate), which no store takes.") from None
    if size > MAX_ITEM_BYTES:
        raise Invalid(f"The item has {size} bytes; the store takes {MAX_ITEM_BYTES}.", code="too-large")
    for name, most in (("pk", MAX_PARTITION_KEY_BYTES), ("sk", MAX_SORT_KEY_BYTES)):
        if name in item and not 0 < len(item[name].encode("utf-8")) <= most:
            raise Invalid(f"A key has 1 to {most} bytes.", field=name, code="bad-key")


def check_written(item: dict[str, Any], text: str) -> None:
    """Do as `check_item` for an item with a key, written as JSON in `text`, which is never shorter than what counts."""
    if not (text.isascii() and len(text) <= MAX_SORT_KEY_BYTES and item["pk"] and item["sk"]):
        check_item(item)


def check_asked_for(event_id: str) -> None:
    """Raise NotFound for an event id that no key can hold: it came from outside, and nothing stands under it."""
    try:
        check_item({"sk": event_id})
    except Invalid:
        raise NotFound("There is no sale of this id; check it, or list the sales.") from None


def check_actions(count: int) -> None:
    """Raise Invalid when a transaction would have more actions than the store takes."""
    if count > MAX_ACTIONS:
        raise Invalid(f"A transaction has at most {MAX_ACTIONS} actions, not {count}.", code="too-many-actions")


def check_batch(batch: HoldBatch) -> None:
    """Raise Invalid for an allocating transaction that no store would carry out."""
    keys = {hint.key for hint in batch.orders}
    buyers = {hint.buyer_id for hint in batch.orders}
    pools = {want.pool_id for hint in batch.orders for want in hint.demand}
    counters = 0 if batch.max_per_buyer is None else len(batch.orders)
    if not 1 <= len(batch.orders) <= MAX_BATCH:
        raise Invalid(f"A batch has 1 to {MAX_BATCH} orders, not {len(batch.orders)}.", code="bad-batch")
    if len(keys) < len(batch.orders):
        raise Invalid("A batch has no order twice.", code="bad-batch")
    if counters and len(buyers) < len(batch.orders):
        raise Invalid("A batch under a limit per buyer has one order of each.", code="bad-batch")
    if not pools <= batch.slices.keys():
        raise Invalid("A batch names the slice of every pool that its orders want.", code="bad-batch")
    check_actions(len(batch.orders) + counters + len(pools) + sum(len(hint.older_homes) for hint in batch.orders))


def check_buyers(buyer_ids: Sequence[str]) -> None:
    """Raise Invalid for more counters than one read takes."""
    if len(buyer_ids) > MAX_KEYS:
        raise Invalid(f"One read takes at most {MAX_KEYS} buyers.", code="too-many-keys")
