"""What stands in for AWS: one ministack for the whole run, and moto within the process."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from moto import mock_aws

from infra.local.ministack import REGION, Ministack
from shared.stores.dynamo.client import connect, connect_streams

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodbstreams import DynamoDBStreamsClient


@cache
def ministack_url() -> str:
    """Start the emulator once, and end it with the process."""
    server = Ministack()
    atexit.register(server.stop)
    return server.url


@cache
def ministack_client() -> DynamoDBClient:
    """Open one client of it: reading the SDK's model of the service takes longer than most tests."""
    return connect(REGION, ministack_url())


@cache
def ministack_streams() -> DynamoDBStreamsClient:
    """Open one client of its streams."""
    return connect_streams(REGION, ministack_url())


@contextmanager
def moto_client() -> Iterator[DynamoDBClient]:
    """Open a client whose requests moto answers; nothing of it outlives the block."""
    with mock_aws():
        client = connect(REGION)
        yield client
        client.close()
