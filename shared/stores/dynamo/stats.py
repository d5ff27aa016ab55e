"""Statistics in a DynamoDB table of their own, `PREFIX-stats`.

A window lies under `LENGTH#STREAM_SHARD` and its start, so every stream shard writes to a partition key of its own,
a few items a batch: the statistics cannot become hotter than what they count.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shared.domain.stats.mark import MAX_MARKS, Mark
from shared.domain.stats.states import KEEP_S as KEEP_STATES_S
from shared.domain.stats.states import EventStates
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import KEEP_S, MINUTE_S, WindowKey, WindowStats, window_of
from shared.domain.times import sortable_ms
from shared.ports.system import Clock
from shared.stores.dynamo.client import Calls, Noter, connect
from shared.stores.dynamo.errors import ConditionFailed
from shared.stores.dynamo.expressions import put, query
from shared.stores.dynamo.tables import Tables
from shared.stores.stats_codec import (
    pack_counts,
    pack_numbers,
    pack_shard,
    pack_steps,
    unpack_counts,
    unpack_numbers,
    unpack_shard,
    unpack_steps,
)
from shared.stores.wire import Item, from_wire, to_wire

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

    from shared.stores.dynamo.expressions import Body

STREAM_SHARDS = "stream-shards"
MARKS = "marks"
# Queries under way at the same time when windows are gathered.
FAN_OUT = 8
_ABSENT = "attribute_not_exists(#pk)"


class DynamoStats:
    """Implements `StatsStore` over one table."""

    def __init__(self, client: DynamoDBClient, table: str, clock: Clock, note: Noter | None = None) -> None:
        """Take an open client; `note` is told how every call ended."""
        self._calls = Calls(client, note=note)
        self._table = table
        self._clock = clock

    def get_window(self, key: WindowKey) -> WindowStats | None:
        item = self._get(_window_pk(key.length_s, key.stream_shard), sortable_ms(key.start_ms))
        return None if item is None else _read_window(item)

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        key = window.key
        item = {
            "pk": _window_pk(key.length_s, key.stream_shard),
            "sk": sortable_ms(key.start_ms),
            "length_s": key.length_s,
            "stream_shard": key.stream_shard,
            "start": key.start_ms,
            "rev": window.rev,
            "upto": str(window.upto),
            "late": pack_numbers(window.late),
            "counts": pack_counts(window.counts),
            "expires_at": key.expires_at_ms // 1000,
        }
        return self._put(item, seen_rev)

    def read_windows(self, length_s: int, *, since_ms: int, until_ms: int) -> tuple[WindowStats, ...]:
        names = [shard.name for shard in self.list_stream_shards(since_ms=since_ms)]
        now_ms = self._clock.now_ms()

        def gather(name: str) -> list[WindowStats]:
            bounds = {"pk": _window_pk(length_s, name), "since": sortable_ms(since_ms), "until": sortable_ms(until_ms)}
            items = self._query(query(self._table, "#pk = :pk AND #sk BETWEEN :since AND :until", bounds))
            return [_read_window(item) for item in items if int(item["start"]) < until_ms]

        with ThreadPoolExecutor(FAN_OUT) as pool:
            windows = [window for part in pool.map(gather, names) for window in part]
        return tuple(
            sorted(
                (window for window in windows if window.key.expires_at_ms > now_ms),
                key=lambda window: (window.key.start_ms, window.key.stream_shard),
            )
        )

    def get_stream_shard(self, name: str) -> StreamShard | None:
        item = self._get(STREAM_SHARDS, name)
        return None if item is None else _read_shard(item)

    def save_stream_shard(self, stream_shard: StreamShard, *, seen_rev: int) -> bool:
        item = {
            "pk": STREAM_SHARDS,
            "sk": stream_shard.name,
            "newest": stream_shard.newest_ms,
            "rev": stream_shard.rev,
            "refused": pack_shard(stream_shard),
            "expires_at": self._clock.now_ms() // 1000 + KEEP_S[MINUTE_S],
        }
        return self._put(item, seen_rev)

    def list_stream_shards(self, *, since_ms: int) -> tuple[StreamShard, ...]:
        earliest_ms = window_of("", MINUTE_S, since_ms).start_ms
        items = self._query(query(self._table, "#pk = :pk", {"pk": STREAM_SHARDS}))
        return tuple(_read_shard(item) for item in items if int(item["newest"]) >= earliest_ms)

    def get_states(self, event_id: str, stream_shard: str) -> EventStates | None:
        item = self._get(_states_pk(event_id), stream_shard)
        return None if item is None else _read_states(item)

    def save_states(self, states: EventStates, *, seen_rev: int) -> bool:
        item = {
            "pk": _states_pk(states.event_id),
            "sk": states.stream_shard,
            "event_id": states.event_id,
            "rev": states.rev,
            "upto": str(states.upto),
            "late": pack_numbers(states.late),
            "newest": states.newest_ms,
            "counts": pack_steps(states.counts),
            "expires_at": self._clock.now_ms() // 1000 + KEEP_STATES_S,
        }
        return self._put(item, seen_rev)

    def list_states(self, event_id: str) -> tuple[EventStates, ...]:
        items = self._query(query(self._table, "#pk = :pk", {"pk": _states_pk(event_id)}))
        return tuple(_read_states(item) for item in items)

    def mark_buyers(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            item = {
                "pk": MARKS,
                "sk": mark.buyer_id,
                "milli_orders_per_s": round(mark.orders_per_s * 1000),
                "until": mark.until_ms,
                "expires_at": mark.until_ms // 1000 + 1,
            }
            self._calls.write("put_item", put(self._table, item))

    def list_marks(self, *, now_ms: int) -> tuple[Mark, ...]:
        items = self._query(query(self._table, "#pk = :pk", {"pk": MARKS}))
        marks = (Mark(item["sk"], int(item["milli_orders_per_s"]) / 1000, int(item["until"])) for item in items)
        return tuple(mark for mark in marks if mark.until_ms > now_ms)[:MAX_MARKS]

    def close(self) -> None:
        self._calls.close()

    def _get(self, pk: str, sk: str) -> Item | None:
        body = {"TableName": self._table, "Key": to_wire({"pk": pk, "sk": sk}), "ConsistentRead": True}
        item = self._calls.read("get_item", body).get("Item")
        return None if item is None else from_wire(item)

    def _put(self, item: Item, seen_rev: int) -> bool:
        body = (
            put(self._table, item, "#rev = :seen", {"seen": seen_rev}) if seen_rev else put(self._table, item, _ABSENT)
        )
        try:
            self._calls.write("put_item", body)
        except ConditionFailed:
            return False
        return True

    def _query(self, body: Body) -> list[Item]:
        items: list[Item] = []
        while True:
            answer = self._calls.read("query", body)
            items += [from_wire(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return items
            body = {**body, "ExclusiveStartKey": answer["LastEvaluatedKey"]}


def open_dynamo_stats(
    prefix: str, *, region: str, endpoint_url: str | None, clock: Clock, note: Noter | None = None
) -> DynamoStats:
    """Open the statistics over a table that exists."""
    return DynamoStats(connect(region, endpoint_url), Tables(prefix).stats, clock, note)


def _window_pk(length_s: int, stream_shard: str) -> str:
    return f"{length_s}#{stream_shard}"


def _read_window(item: Item) -> WindowStats:
    return WindowStats(
        key=WindowKey(item["stream_shard"], int(item["length_s"]), int(item["start"])),
        counts=unpack_counts(bytes(item["counts"])),
        upto=int(item["upto"]),
        late=unpack_numbers(item["late"]),
        rev=int(item["rev"]),
    )


def _read_shard(item: Item) -> StreamShard:
    return unpack_shard(item["sk"], int(item["newest"]), int(item["rev"]), item["refused"])


def _states_pk(event_id: str) -> str:
    return f"states#{event_id}"


def _read_states(item: Item) -> EventStates:
    return EventStates(
        event_id=item["event_id"],
        stream_shard=item["sk"],
        counts=unpack_steps(bytes(item["counts"])),
        newest_ms=int(item["newest"]),
        upto=int(item["upto"]),
        late=unpack_numbers(item["late"]),
        rev=int(item["rev"]),
    )
