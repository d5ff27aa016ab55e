"""The DynamoDB store over the two emulators that answer for it here.

ministack is right under threads, about transactions, the index and the stream. moto is not: it oversells, forgets
client tokens and counts no units, so it stands here as a second reading of the expressions only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.ports.system import Clock
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.stream import DynamoChangeLog
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.contract.kinds import OpenStore
from tests.emulators import ministack_client, ministack_streams, moto_client

_runs = itertools.count()


@contextmanager
def dynamo_on_ministack(_folder: Path, _clock: Clock) -> Iterator[OpenStore]:
    """Open a store over fresh tables of the run's one server."""
    client = ministack_client()
    tables = Tables(f"contract-{next(_runs)}")
    create_tables(client, tables)
    store = DynamoStore(client, tables)
    yield OpenStore(store, DynamoChangeLog(ministack_streams(), tables.orders))
    delete_tables(client, tables)
    store.close()


@contextmanager
def dynamo_on_moto(_folder: Path, _clock: Clock) -> Iterator[OpenStore]:
    """Open a store over moto; its stream cannot be read within the process."""
    with moto_client() as client:
        tables = Tables("moto")
        create_tables(client, tables)
        yield OpenStore(DynamoStore(client, tables), None)
