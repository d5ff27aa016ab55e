"""The stream of changes, read as the local pump reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.ministack import REGION
from shared.domain import transitions
from shared.domain.errors import Unavailable
from shared.domain.order import Order, Reason
from shared.ports.changes import StreamRecord
from shared.stores.dynamo.client import connect_streams
from shared.stores.dynamo.stream import DynamoChangeLog
from shared.stores.items import order_item, read_order
from shared.stores.wire import from_wire
from tests.builders import make_order
from tests.integration.dynamo.conftest import Bench


@pytest.fixture
def log(ministack: str, bench: Bench) -> Iterator[DynamoChangeLog]:
    """Give the change log of the bench's orders."""
    client = connect_streams(REGION, ministack)
    yield DynamoChangeLog(client, bench.tables.orders)
    client.close()


def _read_all(log: DynamoChangeLog, limit: int = 3) -> list[StreamRecord]:
    records: list[StreamRecord] = []
    for shard in log.stream_shards():
        cursor = None
        while True:
            page = log.read_changes(shard, cursor=cursor, limit=limit)
            records += page.records
            cursor = page.cursor
            if not page.records or cursor is None:
                break
    return records


def _changes(bench: Bench, count: int) -> list[tuple[Order, Order]]:
    pairs = []
    for number in range(1, count + 1):
        order = make_order(number, op="a")
        ended = transitions.reject(order, op="b", now_ms=3_000, reason=Reason.SOLD_OUT)
        bench.store.accept(order)
        bench.store.save(ended, seen_rev=1)
        pairs.append((order, ended))
    return pairs


def test_the_log_holds_every_change_in_order(bench: Bench, log: DynamoChangeLog) -> None:
    """Each order's changes come once, in the order of its writes, with the items before and after."""
    pairs = _changes(bench, 5)

    seen = [
        (
            record["eventName"],
            read_order(from_wire(record["dynamodb"]["OldImage"])) if "OldImage" in record["dynamodb"] else None,
            read_order(from_wire(record["dynamodb"]["NewImage"])),
        )
        for record in _read_all(log)
    ]

    expected: list[tuple[str, Order | None, Order]] = []
    for order, ended in pairs:
        expected += [("INSERT", None, order), ("MODIFY", order, ended)]
    assert seen == expected


def test_a_write_that_changes_nothing_leaves_no_record(bench: Bench, log: DynamoChangeLog) -> None:
    """A refused put is not in the log."""
    bench.store.accept(make_order(1, op="a"))
    bench.store.accept(make_order(1, op="b"))

    assert len(_read_all(log)) == 1


def test_a_record_has_the_shape_a_lambda_function_is_given(bench: Bench, log: DynamoChangeLog) -> None:
    """Stream name, keys and sequence are there; the time is a number; nothing in it but JSON."""
    order = make_order(1, op="a")
    bench.store.accept(order)

    (record,) = _read_all(log)

    assert f"table/{bench.tables.orders}/stream/" in record["eventSourceARN"]
    assert record["eventID"]
    change = record["dynamodb"]
    assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert from_wire(change["Keys"]) == {"pk": order.key.partition, "sk": order.key.order_id}
    assert from_wire(change["NewImage"]) == order_item(order)
    assert isinstance(change["ApproximateCreationDateTime"], int)
    assert int(change["SequenceNumber"]) > 0


def test_reading_goes_on_where_it_stopped(bench: Bench, log: DynamoChangeLog, ministack: str) -> None:
    """A cursor survives the process that had it, and shows what came since."""
    _changes(bench, 2)
    (shard,) = log.stream_shards()
    first = log.read_changes(shard, cursor=None, limit=3)
    restarted = DynamoChangeLog(log._client, bench.tables.orders)

    rest = restarted.read_changes(shard, cursor=first.cursor, limit=100)

    assert [len(first.records), len(rest.records)] == [3, 1]


def test_an_expired_iterator_is_replaced(bench: Bench, log: DynamoChangeLog) -> None:
    """After 15 minutes the place is found again by the last sequence number."""
    _changes(bench, 2)
    (shard,) = log.stream_shards()
    first = log.read_changes(shard, cursor=None, limit=3)
    assert first.cursor is not None
    last = first.records[-1]["dynamodb"]["SequenceNumber"]
    assert first.cursor.startswith(f"{last} ")

    rest = log.read_changes(shard, cursor=f"{last} ", limit=100)

    assert len(rest.records) == 1


class ScriptedStreams:
    """A streams client that answers from a script; `exceptions` are those of a real one."""

    def __init__(self, real: Any, shards: list[dict[str, str]]) -> None:  # noqa: ANN401 - the client has no public type
        self.exceptions = real.exceptions
        self.meta = real.meta
        self._shards = shards
        self.asked: list[dict[str, str]] = []
        self.failures: list[Exception] = []

    def list_streams(self, *, TableName: str) -> dict[str, Any]:  # noqa: N803 - as the API has it
        return {"Streams": [{"StreamArn": f"arn:aws:dynamodb:::table/{TableName}/stream/1"}] if self._shards else []}

    def describe_stream(self, *, StreamArn: str, ExclusiveStartShardId: str | None = None) -> dict[str, Any]:  # noqa: N803
        names = [shard["ShardId"] for shard in self._shards]
        at = names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0
        page: dict[str, Any] = {"Shards": self._shards[at : at + 2]}
        if at + 2 < len(names):
            page["LastEvaluatedShardId"] = names[at + 1]
        return {"StreamDescription": page}

    def get_shard_iterator(self, **request: str) -> dict[str, str]:
        self.asked.append(request)
        if self.failures:
            raise self.failures.pop(0)
        return {"ShardIterator": request["ShardIteratorType"]}

    def get_records(self, *, ShardIterator: str, Limit: int) -> dict[str, Any]:  # noqa: N803
        if ShardIterator == "old":
            raise self.exceptions.ExpiredIteratorException({"Error": {}}, "GetRecords")
        return {"Records": []}


@pytest.fixture
def streams() -> Iterator[Any]:
    """Give a real streams client that nobody answers."""
    client = connect_streams(REGION, "http://127.0.0.1:9")
    yield client
    client.close()


def test_parents_come_before_their_children(streams: Any) -> None:  # noqa: ANN401
    """Whatever the order of the pages, a stream shard follows its parent; a parent no longer kept does not matter."""
    shards = [
        {"ShardId": "d", "ParentShardId": "b"},
        {"ShardId": "c", "ParentShardId": "b"},
        {"ShardId": "b", "ParentShardId": "a"},
        {"ShardId": "a", "ParentShardId": "trimmed"},
        {"ShardId": "e"},
    ]
    client: Any = ScriptedStreams(streams, shards)

    order = DynamoChangeLog(client, "t").stream_shards()

    assert sorted(order) == ["a", "b", "c", "d", "e"]
    places = {shard: at for at, shard in enumerate(order)}
    assert places["a"] < places["b"] < min(places["c"], places["d"])


def test_an_ended_stream_shard_has_no_cursor(streams: Any) -> None:  # noqa: ANN401
    """A stream shard that has split ends: no iterator follows, and the cursor says so."""
    client: Any = ScriptedStreams(streams, [{"ShardId": "a"}])

    assert DynamoChangeLog(client, "t").read_changes("a", cursor=None, limit=10).cursor is None


def test_what_the_stream_no_longer_keeps_is_passed_over(streams: Any) -> None:  # noqa: ANN401
    """After more than a day away, reading goes on from the oldest record kept."""
    client: Any = ScriptedStreams(streams, [{"ShardId": "a"}])
    client.failures.append(client.exceptions.TrimmedDataAccessException({"Error": {}}, "GetShardIterator"))

    DynamoChangeLog(client, "t").read_changes("a", cursor="17 old", limit=10)

    assert [request["ShardIteratorType"] for request in client.asked] == ["AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON"]


def test_a_table_without_a_stream_says_what_to_do(streams: Any) -> None:  # noqa: ANN401
    """A missing stream is a sentence, not a crash."""
    client: Any = ScriptedStreams(streams, [])

    with pytest.raises(Unavailable, match="stream"):
        DynamoChangeLog(client, "t").stream_shards()
