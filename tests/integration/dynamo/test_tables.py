"""The tables as the store needs them."""

from __future__ import annotations

import pytest

from infra.local.ministack import REGION
from shared.domain.errors import Unavailable
from shared.stores.dynamo.client import connect
from shared.stores.dynamo.tables import Tables, create_tables
from tests.integration.dynamo.conftest import NOWHERE, Bench


def test_creating_what_stands_changes_nothing(bench: Bench) -> None:
    """A second start finds the tables with their content."""
    client = bench.store._calls._client
    before = client.describe_table(TableName=bench.tables.orders)["Table"]["TableId"]

    create_tables(client, bench.tables)

    assert client.describe_table(TableName=bench.tables.orders)["Table"]["TableId"] == before


def test_a_missing_table_is_named_as_the_trouble(ministack: str, bench: Bench) -> None:
    """A wrong prefix is an unavailable store with a sentence, not a crash."""
    bench.store._tables = Tables("no-such")

    with pytest.raises(Unavailable, match="prefix"):
        bench.store.get_sale("gig")


def test_tables_cannot_be_created_where_nobody_answers() -> None:
    """An unreachable service is a sentence with its address."""
    client = connect(REGION, NOWHERE)
    try:
        with pytest.raises(Unavailable, match=NOWHERE):
            create_tables(client, Tables("x"))
    finally:
        client.close()


def test_no_id_forges_another_key(bench: Bench) -> None:
    """R13: a buyer called like a pool, a slice or another buyer counts for nobody else."""
    names = ["floor", "floor#0", "buyer/ann", "../ann", "ann#0", "日本"]

    assert bench.store.buyer_counts("gig", names) == {}
    keys = {get["pk"]["S"] for get in bench.road.requests[-1]["RequestItems"][bench.tables.inventory]["Keys"]}
    assert keys == {f"gig#buyer/{name}" for name in names}
