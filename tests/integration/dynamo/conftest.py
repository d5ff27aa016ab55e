"""A DynamoDB store over the emulator, and one over nothing at all whose answers the test writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infra.local.ministack import REGION
from shared.stores.dynamo.client import Spent, connect
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.fakes.aws import Road

# Port 9 discards; nothing listens there.
NOWHERE = "http://127.0.0.1:9"
_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Bench:
    """A store with what a test wants to see of it."""

    store: DynamoStore
    road: Road
    spent: list[Spent]
    tables: Tables


@pytest.fixture
def bench(ministack: str) -> Iterator[Bench]:
    """Give a store over fresh tables of the emulator."""
    client = connect(REGION, ministack)
    tables = Tables(f"dynamo-{next(_runs)}")
    create_tables(client, tables)
    spent: list[Spent] = []
    store = DynamoStore(client, tables, spent.append)
    yield Bench(store, Road(client), spent, tables)
    delete_tables(client, tables)
    store.close()


@pytest.fixture
def scripted() -> Iterator[Bench]:
    """Give a store without a service: what is not scripted finds nobody."""
    client = connect(REGION, NOWHERE)
    spent: list[Spent] = []
    store = DynamoStore(client, Tables("nowhere"), spent.append)
    yield Bench(store, Road(client), spent, Tables("nowhere"))
    store.close()
