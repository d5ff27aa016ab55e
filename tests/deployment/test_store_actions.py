"""What the store's methods ask DynamoDB for, seen at the client, against the table that the roles are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from shared.domain.order import Lane, Seats, Status, WorkHint
from shared.domain.sale import Pool
from shared.ports.control import Member
from shared.ports.inventory import HoldBatch
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.builders import make_order, make_sale
from tests.deployment.used_actions import METHODS
from tests.emulators import ministack_client

PREFIX = "actions-test"
SALE = make_sale(pools=(Pool("floor", 10),), max_per_buyer=4)
VERBS = {"Put": "PutItem", "Update": "UpdateItem", "ConditionCheck": "ConditionCheckItem", "Delete": "DeleteItem"}


class Recorded:
    """The (table, action) pairs of one call after another."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, str]] = set()

    def note(self, params: dict[str, Any], model: Any, **_: Any) -> None:  # noqa: ANN401 - as botocore calls it
        if model.name == "TransactWriteItems":
            for action in params["TransactItems"]:
                ((verb, body),) = action.items()
                self.pairs.add((self._table(body), VERBS[verb]))
        elif model.name == "BatchGetItem":
            self.pairs |= {(table.removeprefix(f"{PREFIX}-"), model.name) for table in params["RequestItems"]}
        else:
            self.pairs.add((self._table(params), model.name))

    @staticmethod
    def _table(body: dict[str, Any]) -> str:
        index = f"/{body['IndexName']}" if "IndexName" in body else ""
        return str(body["TableName"]).removeprefix(f"{PREFIX}-") + index


@pytest.fixture
def store(ministack: str) -> Iterator[tuple[DynamoStore, Recorded]]:
    """A store whose client tells what it sends."""
    client, recorded = ministack_client(), Recorded()
    create_tables(client, Tables(PREFIX))
    event = "before-parameter-build.dynamodb"
    client.meta.events.register(event, recorded.note, unique_id="actions-test")
    yield DynamoStore(client, Tables(PREFIX)), recorded
    client.meta.events.unregister(event, unique_id="actions-test")
    delete_tables(client, Tables(PREFIX))


def test_methods_ask_for_what_the_table_says(store: tuple[DynamoStore, Recorded]) -> None:
    """Each request is one of the pairs that the table has for its method, whatever became of the call."""
    db, recorded = store
    first, second = make_order(1), make_order(2, buyer="bob")
    held = replace(first, status=Status.HELD, rev=first.rev + 1, seats=(Seats("floor", 0, 1),), op="h")
    given_back = replace(held, rev=held.rev + 1, op="r")
    member = Member("ann", "i", 1)

    def line() -> tuple[WorkHint, ...]:
        return db.due("gig", first.key.shard, Lane.LINE, until_ms=10**12, limit=5).hints

    calls: list[tuple[str, Callable[[], object]]] = [
        ("create_sale", lambda: db.create_sale(SALE)),
        ("get_sale", lambda: db.get_sale("gig")),
        ("save_sale", lambda: db.save_sale(replace(SALE, version=2), seen_version=1)),
        ("list_sales", db.list_sales),
        ("beat", lambda: db.beat(member)),
        ("members", db.members),
        ("leave", lambda: db.leave(member)),
        ("list_checks", db.list_checks),
        ("list_audit", lambda: db.list_audit(limit=5)),
        ("open_inventory", lambda: db.open_inventory(SALE)),
        ("get_pool", lambda: db.get_pool(SALE, "floor")),
        ("buyer_counts", lambda: db.buyer_counts("gig", ["ann"])),
        ("accept", lambda: db.accept(first)),
        ("accept", lambda: db.accept(second)),
        ("get_order", lambda: db.get_order(first.key)),
        ("save", lambda: db.save(replace(second, rev=second.rev + 1, op="s"), seen_rev=second.rev)),
        ("due", line),
        ("depth", lambda: db.depth("gig", first.key.shard, Lane.LINE, most=5)),
        ("list_orders", lambda: db.list_orders("gig", first.key.shard, limit=5)),
        ("hold_batch", lambda: db.hold_batch(HoldBatch("gig", "h", 5, 9, line(), {"floor": 0}, 4))),
        ("release", lambda: db.release(given_back, seen_rev=held.rev, withhold=True, max_per_buyer=4)),
        ("draw", lambda: db.draw("gig", "floor", 0, 1, op="d")),
        ("give_back", lambda: db.give_back("gig", "floor", 0, 1, op="g")),
        ("decide_sold_out", lambda: db.decide_sold_out(SALE, "floor", seen_round=0, op="o")),
        ("reopen_pool", lambda: db.reopen_pool("gig", "floor", seen_round=0, op="p")),
    ]  # fmt: skip
    for method, call in calls:
        recorded.pairs.clear()
        call()
        extra = {("orders/work", "Query")} if method == "hold_batch" else set()
        assert recorded.pairs, method
        assert recorded.pairs <= METHODS[method] | extra, method
