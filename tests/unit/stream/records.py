"""Makers of stream records, as a Lambda function gets them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shared.domain.order import Order, Status
from shared.domain.order_id import OrderKey
from shared.domain.stats.window import LENGTHS_S, Counts, add_counts
from shared.ports.stats import StatsStore
from shared.stores.items import order_item
from shared.stores.wire import to_wire
from tests.builders import make_order

STREAM_SHARD = "shardId-00000000000000000001-00000001"
FIRST = 10**20


def make_record(
    number: int, old: Order | None = None, new: Order | None = None, *, at_ms: int | None = None
) -> dict[str, Any]:
    """Make record `number` of a stream shard; without orders it is the arrival of order `number`."""
    if old is None and new is None:
        new = make_order(number)
    image = new or old
    assert image is not None
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": (10_000 + number if at_ms is None else at_ms) / 1000,
        "Keys": to_wire({"pk": image.key.partition, "sk": image.key.order_id}),
        "SequenceNumber": str(FIRST + number),
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    if old is not None:
        change["OldImage"] = to_wire(order_item(old))
    if new is not None:
        change["NewImage"] = to_wire(order_item(new))
    name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
    return {"eventID": str(number), "eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change}


def arrival(number: int, *, event_id: str = "gig", shard: int = 0, buyer: str = "ann", at_ms: int) -> dict[str, Any]:
    """Make the record of an order's arrival."""
    order = replace(make_order(number, buyer=buyer), key=OrderKey(event_id, shard, f"1-{number:032x}"))
    return make_record(number, new=order, at_ms=at_ms)


def held(number: int, *, at_ms: int) -> dict[str, Any]:
    """Make the record of order 1's step from queued to held."""
    order = make_order(1)
    return make_record(number, order, replace(order, status=Status.HELD, rev=2), at_ms=at_ms)


def spoil(record: dict[str, Any]) -> dict[str, Any]:
    """Take from a record what a reader needs, but not its number."""
    change = {name: part for name, part in record["dynamodb"].items() if name not in {"NewImage", "OldImage"}}
    return {**record, "dynamodb": change}


def make_event(*records: Any, shard: str = STREAM_SHARD) -> dict[str, Any]:  # noqa: ANN401 - malformed ones too
    """Make the event of one batch, with a tumbling window."""
    return {
        "Records": list(records),
        "shardId": shard,
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/onsale-local-orders/stream/x",
        "window": {"start": "2026-11-30T00:00:00Z", "end": "2026-11-30T00:01:00Z"},
        "state": {},
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }


def failures(answer: dict[str, Any]) -> list[int]:
    """Return the numbers of the records that are to be delivered again."""
    return [int(failure["itemIdentifier"]) - FIRST for failure in answer["batchItemFailures"]]


def totals(stats: StatsStore) -> tuple[Counts, ...]:
    """Add up what is stored, once over the windows of each length."""
    return tuple(
        add_counts(window.counts for window in stats.read_windows(length_s, since_ms=0, until_ms=10**13))
        for length_s in LENGTHS_S
    )
