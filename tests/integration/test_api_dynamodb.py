"""The same server over DynamoDB: what a buyer and staff meet is the same."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from infra.local.ministack import REGION
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.emulators import ministack_client
from tests.integration.servers import RunningServer, running_server
from tests.integration.test_api import ORDER, ORDERS, SALE

PREFIX = "api-test"


@pytest.fixture(scope="module")
def server(ministack: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Return a server over fresh tables, with one sale open."""
    tables = Tables(PREFIX)
    create_tables(ministack_client(), tables)
    with running_server(
        tmp_path_factory.mktemp("keys"),
        ONSALE_STORE="dynamodb",
        ONSALE_DYNAMODB_URL=ministack,
        ONSALE_TABLE_PREFIX=PREFIX,
        ONSALE_REGION=REGION,
    ) as server:
        created = server.ask("POST", "/v1/staff/sales", SALE, token=server.token("boss", "staff:write"))
        assert created.status == 201
        yield server
    delete_tables(ministack_client(), tables)


def test_an_order_is_placed_read_and_cancelled(server: RunningServer) -> None:
    """The whole way of a buyer who changes their mind."""
    token = server.token("ann")

    placed = server.ask("POST", ORDERS, {**ORDER, "holder": "山田"}, token=token, headers={"Idempotency-Key": "way"})
    again = server.ask("POST", ORDERS, {**ORDER, "holder": "山田"}, token=token, headers={"Idempotency-Key": "way"})
    other = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": "way"})
    read = server.ask("GET", placed.headers["location"], token=token)
    cancelled = server.ask("DELETE", placed.headers["location"], token=token)

    assert (placed.status, again.status, other.status, read.status, cancelled.status) == (202, 202, 422, 200, 200)
    assert again.headers["location"] == placed.headers["location"]
    assert read.json["holder"] == "山田"
    assert cancelled.json["status"] == "cancelled"


def test_fifty_at_once_with_one_key_are_one_order(server: RunningServer) -> None:
    """K2: the conditional write returns the first attempt to all others."""
    token = server.token("cat")

    def place(_: int) -> tuple[int, str]:
        answer = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": "k2"})
        return answer.status, answer.headers["location"]

    with ThreadPoolExecutor(50) as pool:
        answers = set(pool.map(place, range(50)))

    assert {status for status, _ in answers} == {202}
    assert len(answers) == 1


def test_staff_see_the_same_sale(server: RunningServer) -> None:
    """Definition, seats, pause, resume and the audit's conditions work on items as on rows."""
    token = server.token("boss", "staff:write")

    shown = server.ask("GET", "/v1/staff/sales/gig", token=token).json
    paused = server.ask("POST", "/v1/staff/sales/gig/pause", {"all": True}, token=token).json
    resumed = server.ask("POST", "/v1/staff/sales/gig/resume", token=token).json
    again = server.ask("POST", "/v1/staff/sales", SALE, token=token)

    assert (shown["pools"][0]["unsold"], shown["pools"][0]["taken"]) == (100, 0)
    assert (paused["status"], resumed["status"], resumed["version"]) == ("paused", "active", 3)
    assert again.status == 200


def test_health_says_what_the_store_says(server: RunningServer) -> None:
    """It answers, so the process can do its work."""
    assert server.ask("GET", "/healthz").status == 200
