"""What nobody foresaw, and what may not be said in logs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from msgspec.structs import force_setattr

from shared.domain.errors import Broken
from shared.domain.order import Order
from shared.domain.order_id import OrderKey
from shared.ports.orders import Accepted
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.unit.ingest.client import Client


class _Buggy(FaultyStore):
    def accept(self, order: Order) -> Accepted:
        raise ZeroDivisionError(order.buyer_id and "a bug")

    def get_order(self, key: OrderKey) -> Order | None:
        raise Broken


def test_a_bug_is_a_500_that_can_be_found_again(ann: Client, inner: SqliteStore, logs: io.StringIO) -> None:
    """The answer says nothing of the inside; the log has the rest under the same correlation id."""
    force_setattr(ann.door._parts, "store", _Buggy(inner, Script({})))

    reply = ann.order()

    assert (reply.status, reply.problem) == (500, "unexpected")
    assert "bug" not in reply.text
    line = json.loads(logs.getvalue().splitlines()[-1])
    assert line["correlation_id"] == reply.headers["x-correlation-id"]
    assert (line["level"], line["exception_name"]) == ("ERROR", "ZeroDivisionError")


def test_broken_data_is_a_500_too(ann: Client, inner: SqliteStore) -> None:
    """Stored data that contradict themselves are our fault, not the buyer's."""
    force_setattr(ann.door._parts, "store", _Buggy(inner, Script({})))

    assert ann.ask("GET", "/v1/events/gig/orders/1-" + "0" * 32).problem == "unexpected"


def test_an_event_that_is_none_is_answered(ann: Client) -> None:
    """Even what is no event of a gateway gets a problem."""
    events: list[dict[str, Any]] = [{}, {"headers": {}, "requestContext": {}}, {"rawPath": "/"}]
    for event in events:
        assert ann.door(event, LambdaContext())["statusCode"] == 500


@pytest.mark.parametrize("script", [Script({("get_sale", n): Fault.UNAVAILABLE for n in range(1, 9)})])
def test_a_silent_store_is_told_by_health(script: Schedule, ann: Client) -> None:
    """The process lives, but cannot do its work: 503."""
    reply = ann.ask("GET", "/healthz")

    assert (reply.status, reply.problem) == (503, "unavailable")
    assert ann.order().status == 503


def test_logs_name_orders_and_nobody(ann: Client, logs: io.StringIO) -> None:
    """One line an order, with event, order, shard and correlation id; no buyer, holder, card or key."""
    buyer = Client(ann.door, "secret-subject", "buy")
    placed = buyer.order(holder="Secret Holder", payment_method="pm_secret", key="secret-key")
    buyer.order(0, holder="Secret Holder")
    buyer.ask("GET", placed.headers["Location"])
    buyer.ask("DELETE", placed.headers["Location"])

    text = logs.getvalue()
    line = json.loads(text.splitlines()[0])
    assert line["message"] == "order accepted"
    assert line["order_id"] == placed.json["order_id"]
    assert line["correlation_id"] == placed.headers["x-correlation-id"]
    assert {"event_id", "shard", "action"} <= line.keys()
    assert "secret" not in text.lower()
