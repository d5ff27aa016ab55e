"""The stream of changes of the orders table, for the pump of a local run; on AWS a Lambda mapping reads it.

Source: "Amazon DynamoDB Streams API Reference" (DescribeStream, GetShardIterator, GetRecords).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from shared.domain.errors import Unavailable
from shared.ports.changes import StreamPage, StreamRecord
from shared.stores.dynamo.errors import answer_error, transport_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from types_boto3_dynamodbstreams import DynamoDBStreamsClient

MAX_RECORDS = 1000
# A cursor is the last record's sequence number and the iterator that goes on from there; the first outlives the second.
_SEPARATOR = " "
_START = "-"


class DynamoChangeLog:
    """Implements `ChangeLog` over the stream of one table."""

    def __init__(self, client: DynamoDBStreamsClient, table: str) -> None:
        self._client = client
        self._table = table
        self._arn: str | None = None

    def stream_shards(self) -> tuple[str, ...]:
        shards: dict[str, str | None] = {}
        request: dict[str, Any] = {"StreamArn": self._stream_arn()}
        while True:
            page = self._call("describe_stream", **request)["StreamDescription"]
            shards |= {shard["ShardId"]: shard.get("ParentShardId") for shard in page["Shards"]}
            if not page.get("LastEvaluatedShardId"):
                return _parents_first(shards)
            request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]

    def read_changes(self, stream_shard: str, *, cursor: str | None, limit: int) -> StreamPage:
        last, iterator = cursor.split(_SEPARATOR) if cursor is not None else (_START, "")
        try:
            page = self._call(
                "get_records",
                ShardIterator=iterator or self._iterator(stream_shard, last),
                Limit=min(limit, MAX_RECORDS),
            )
        except _Expired:
            page = self._call(
                "get_records", ShardIterator=self._iterator(stream_shard, last), Limit=min(limit, MAX_RECORDS)
            )
        records = tuple(self._as_event(record) for record in page["Records"])
        if records:
            last = records[-1]["dynamodb"]["SequenceNumber"]
        following = page.get("NextShardIterator")
        return StreamPage(records, f"{last}{_SEPARATOR}{following}" if following else None)

    def _iterator(self, stream_shard: str, last: str) -> str:
        request = {"StreamArn": self._stream_arn(), "ShardId": stream_shard}
        if last != _START:
            try:
                after = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
                return str(self._call("get_shard_iterator", **request, **after)["ShardIterator"])
            except _Trimmed:
                pass  # older than the stream keeps: go on from the oldest it has
        oldest = self._call("get_shard_iterator", **request, ShardIteratorType="TRIM_HORIZON")
        return str(oldest["ShardIterator"])

    def _stream_arn(self) -> str:
        if self._arn is None:
            streams = self._call("list_streams", TableName=self._table)["Streams"]
            if not streams:
                raise Unavailable(f"The table {self._table} has no stream; create it with one.")
            self._arn = str(streams[-1]["StreamArn"])
        return self._arn

    def _as_event(self, record: Mapping[str, Any]) -> StreamRecord:
        """Write a record as a Lambda function is given it: with its stream's name, and its time as a number."""
        change = dict(record["dynamodb"])
        at = change.get("ApproximateCreationDateTime")
        if isinstance(at, datetime):
            change["ApproximateCreationDateTime"] = int(at.timestamp())
        return {**record, "eventSourceARN": self._stream_arn(), "dynamodb": change}

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - as the API has it
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**request)
        except self._client.exceptions.ExpiredIteratorException as error:
            raise _Expired from error
        except self._client.exceptions.TrimmedDataAccessException as error:
            raise _Trimmed from error
        except ClientError as error:
            raise answer_error(error, writes=False, tables=()) from error
        except BotoCoreError as error:
            endpoint = self._client.meta.endpoint_url
            raise transport_error(error, writes=False, endpoint=endpoint) from error
        return answer


class _Expired(Exception):
    """An iterator is valid for 15 minutes."""


class _Trimmed(Exception):
    """A stream keeps 24 hours."""


def _parents_first(shards: Mapping[str, str | None]) -> tuple[str, ...]:
    """Order shards so that each follows its parent; parents that are no longer kept do not count."""
    ordered: dict[str, None] = {}

    def add(shard: str) -> None:
        parent = shards[shard]
        if parent is not None and parent in shards and parent not in ordered:
            add(parent)
        ordered[shard] = None

    for shard in shards:
        add(shard)
    return tuple(ordered)
