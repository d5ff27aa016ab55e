"""Lambda entry for batches of the orders table's stream; a local pump calls it with the same shape.

A batch is counted, and what buyers see of their orders is copied to where they list them.

Shape: "Using AWS Lambda with Amazon DynamoDB", with `ReportBatchItemFailures` and a tumbling window. The window is
configured only because the event then names its stream shard; nothing is kept in its state, for a window ends early
when a stream shard splits, and a state is handed on before anybody knows whether the batch was counted.

Powertools' batch processor is not used: it decides record by record, and here a batch is one conditional write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from consumers.stream.batch import read_batch
from consumers.stream.buyer_orders import Projection
from consumers.stream.count_once import Incomplete, count_once
from consumers.stream.parts import open_parts
from shared.domain.errors import Broken, Invalid
from shared.metering.meter import Meter
from shared.metrics import STREAM_RECORDS
from shared.ports.stats import StatsStore

Event = Mapping[str, Any]
# Sequence numbers in one line of the log; the statistics list the newest MAX_REFUSED.
MAX_LOGGED = 20


def handler(event: Event, context: object) -> dict[str, Any]:  # noqa: ARG001 - as Lambda calls it
    """Count a batch and return what is to be delivered again.

    `{"batchItemFailures": [{"itemIdentifier": SEQUENCE}, …]}`, with `state` where a window is configured. Invalid when
    the event is none of the stream's or does not name its stream shard, Broken when a record has no sequence number:
    both fail the whole batch, for there is nothing to report them by.
    """
    parts = open_parts()
    try:
        return handle(event, parts.stats, parts.logger, parts.watch.meter, parts.copies)
    finally:
        parts.send()


def handle(
    event: Event, stats: StatsStore, logger: Logger, meter: Meter | None = None, copies: Projection | None = None
) -> dict[str, Any]:
    """Do the handler's work with given parts."""
    records, stream_shard = _records(event)
    batch = read_batch(records)
    failed = set(batch.unreadable)
    try:
        count_once(stats, stream_shard, batch.changes, batch.unreadable)
    except Incomplete as error:
        if not error.sequences:
            # Only unreadable records, and not even those could be noted: the whole batch comes again.
            raise
        failed |= error.sequences
        logger.warning(
            "A batch of the stream was not counted whole; it comes again.",
            action="count",
            stream_shard=stream_shard,
            reason=str(error.__cause__),
        )
    if copies is not None:
        failed |= copies.take(stream_shard, records, batch.changes)
    if batch.unreadable:
        logger.error(
            "Records of the stream cannot be read.",
            action="count",
            stream_shard=stream_shard,
            count=len(batch.unreadable),
            sequences=[str(number) for number in sorted(batch.unreadable)[:MAX_LOGGED]],
        )
    if meter is not None:
        meter.count(STREAM_RECORDS, "unreadable", by=len(batch.unreadable) + batch.nameless)
        meter.count(STREAM_RECORDS, "again", by=len(failed - set(batch.unreadable)))
        meter.count(STREAM_RECORDS, "taken", by=len(records) - len(failed) - batch.nameless)
    if batch.nameless:
        raise Broken(f"{batch.nameless} of {len(records)} records have no sequence number to report them by.")
    answer: dict[str, Any] = {
        "batchItemFailures": [{"itemIdentifier": batch.identifiers[sequence]} for sequence in sorted(failed)]
    }
    if "window" in event:
        answer["state"] = event.get("state") or {}
    return answer


def _records(event: Event) -> tuple[list[Any], str]:
    records = event.get("Records")
    if not isinstance(records, list):
        raise Invalid("The event has no list `Records`; this function reads batches of a DynamoDB stream.")
    stream_shard = event.get("shardId")
    if not isinstance(stream_shard, str) or not stream_shard:
        raise Invalid("The event does not name its stream shard; give the event source mapping a tumbling window.")
    return records, stream_shard
