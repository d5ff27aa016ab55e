"""The throttling endpoint, in front of an endpoint that says yes to everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from infra.model.limits import Assumptions
from infra.model.partition_model import PartitionModel
from infra.model.proxy import ProxyOptions, ThrottleProxy
from infra.model.throttler import Throttler
from tests.unit.model.test_charges import DESCRIPTION, TABLE, WORK, WORKING

Call = Callable[[str, dict[str, Any]], Awaitable[tuple[int, dict[str, Any]]]]
Client = TestClient[web.Request, web.Application]


class Stub:
    """An endpoint that remembers what reached it and answers what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, tuple[int, dict[str, Any]]] = {}

    async def serve(self, request: web.Request) -> web.Response:
        operation = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
        body = await request.read()
        self.calls.append((operation, json.loads(body) if operation else {}))
        status, answer = self.answers.get(operation, (200, {}))
        if operation == "DescribeTable":
            answer = {"Table": DESCRIPTION}
        return web.json_response(answer, status=status, headers={"x-amz-crc32": "1", "X-From": "stub"})


def drive(
    scenario: Callable[[Call, Stub, Client], Awaitable[None]],
    options: dict[str, Any] | None = None,
    clock_us: Callable[[], int] = lambda: 0,
) -> None:
    """Run a scenario against a proxy whose clock stands still unless told otherwise."""

    async def body() -> None:
        stub = Stub()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", stub.serve)
        async with TestServer(app) as upstream:
            proxy = ThrottleProxy(ProxyOptions(str(upstream.make_url("/")), **(options or {})), clock_us)
            async with TestClient(TestServer(proxy.app())) as client:

                async def call(operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
                    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
                    async with client.post("/", data=json.dumps(request), headers=headers) as answer:
                        return answer.status, json.loads(await answer.read())

                await scenario(call, stub, client)

    asyncio.run(body())


def put(number: int, key: str = "event#1", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - DynamoDB JSON
    """A put of one order."""
    return {"TableName": "orders", "Item": {"pk": {"S": key}, "sk": {"S": f"o{number}"}, **more}}


def test_a_hot_key_is_refused_as_dynamodb_refuses_it() -> None:
    """Ten a second pass at a hundredth of the size; the eleventh never reaches the endpoint."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        answers = [await call("PutItem", put(i)) for i in range(12)]
        assert [status for status, _ in answers] == [200] * 10 + [400] * 2
        assert answers[-1][1]["__type"].endswith("ThrottlingException")
        reason = {"reason": "TableWriteKeyRangeThroughputExceeded", "resource": TABLE}
        assert answers[-1][1]["throttlingReasons"] == [reason]
        assert [name for name, _ in stub.calls] == ["DescribeTable"] + ["PutItem"] * 10
        truth = await (await client.get("/_truth")).json()
        assert (truth["requests"], truth["throttled_requests"]) == (12, 2)
        assert truth["throttles"] == [
            {**reason, "table": "orders", "operation": "PutItem", "count": 2},
        ]
        assert truth["partitions"] == {TABLE: 4, WORK: 4}
        await client.delete("/_truth")
        assert (await (await client.get("/_truth")).json())["requests"] == 0

    drive(scenario, {"scale": 0.01})


def test_an_index_refuses_in_its_own_name() -> None:
    """Keys of the table are spread, the index has one: its ARN is in the reason."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        answers = [await call("PutItem", put(i, f"event#{i}", **WORKING)) for i in range(12)]
        refused = [body for status, body in answers if status == 400]
        assert len(refused) == 2
        assert refused[0]["throttlingReasons"][0]["resource"] == WORK

    drive(scenario, {"scale": 0.01})


def test_part_of_a_batch_comes_back_unprocessed() -> None:
    """What passes is sent on, what does not is named on a 200; the endpoint's own rest is kept."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        own = {"PutRequest": {"Item": {"pk": {"S": "other"}, "sk": {"S": "x"}}}}
        stub.answers["BatchWriteItem"] = (200, {"UnprocessedItems": {"orders": [own]}})
        elements = [{"PutRequest": {"Item": put(i)["Item"]}} for i in range(12)]
        status, body = await call("BatchWriteItem", {"RequestItems": {"orders": elements}})
        assert status == 200
        assert body["UnprocessedItems"] == {"orders": [own, *elements[10:]]}
        assert stub.calls[-1][1]["RequestItems"] == {"orders": elements[:10]}
        status, body = await call("BatchWriteItem", {"RequestItems": {"orders": elements}})
        assert (status, body["__type"].endswith("ThrottlingException")) == (400, True)

    drive(scenario, {"scale": 0.01})


def test_part_of_a_batch_get_comes_back_unprocessed() -> None:
    """Thirty reads a second pass; the rest is named with the options asked for."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        keys = [{"pk": {"S": "hot"}, "sk": {"S": str(i)}} for i in range(32)]
        status, body = await call("BatchGetItem", {"RequestItems": {"orders": {"Keys": keys, "ConsistentRead": True}}})
        assert status == 200
        assert body["UnprocessedKeys"] == {"orders": {"ConsistentRead": True, "Keys": keys[30:]}}

    drive(scenario, {"scale": 0.01})


def test_a_transaction_is_cancelled_whole() -> None:
    """One hot action cancels all; nothing is charged for it and nothing reaches the endpoint."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        for i in range(9):
            await call("PutItem", put(i))
        calls = len(stub.calls)
        elements = [{"Put": put(0, f"cool#{i}")} for i in range(3)] + [{"Put": put(0)}]
        status, body = await call("TransactWriteItems", {"TransactItems": elements})
        assert status == 400
        assert [reason["Code"] for reason in body["CancellationReasons"]] == ["None"] * 3 + ["ThrottlingError"]
        assert len(stub.calls) == calls
        assert (await call("PutItem", put(9)))[0] == 200

    drive(scenario, {"scale": 0.01})


def test_the_seed_case_before_and_after() -> None:
    """One key with a counter lets a quarter of 1,000 joins through; our layout lets all through, none throttled."""
    at_us = 0

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        nonlocal at_us

        def join(number: int) -> dict[str, Any]:
            counter = {"TableName": "orders", "Key": {"pk": {"S": "game"}, "sk": {"S": "counter"}}}
            return {"TransactItems": [{"Update": counter}, {"Put": put(number, "game")}]}

        joined = 0
        for i in range(1_000):
            at_us += 90
            joined += (await call("TransactWriteItems", join(i)))[0] == 200
        assert 250 <= joined <= 275
        await client.delete("/_truth")
        for i in range(1_000):
            at_us += 90
            assert (await call("PutItem", put(i, f"sale#{i % 16}", **WORKING | {"wpk": {"S": f"w{i % 16}"}})))[0] == 200
        truth = await (await client.get("/_truth")).json()
        assert (truth["requests"], truth["throttled_requests"]) == (1_000, 0)

    drive(scenario, {"warm_write_units": 16_000.0}, clock_us=lambda: at_us)


def test_a_failed_condition_costs_on_the_table_only() -> None:
    """The index is not charged for a write that did not happen."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        stub.answers["PutItem"] = (400, {"__type": "x#ConditionalCheckFailedException"})
        for i in range(30):
            await call("PutItem", put(0, f"event#{i}", **WORKING))
        stub.answers.clear()
        passed = [(await call("PutItem", put(i, f"other#{i}", **WORKING)))[0] for i in range(10)]
        assert passed.count(200) >= 8

    drive(scenario, {"scale": 0.01, "warm_write_units": 100_000.0})


def test_a_query_pays_for_what_it_read() -> None:
    """A page of 40 KiB leaves a debt that the next reads feel."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        items = [{"pk": {"S": "hot"}, "blob": {"S": "x" * 4_000}} for _ in range(50)]
        stub.answers["Query"] = (200, {"Items": items, "Count": 50, "ScannedCount": 50})
        query = {
            "TableName": "orders",
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "hot"}},
        }
        assert (await call("Query", query))[0] == 200
        status, body = await call("Query", query)
        assert status == 400
        assert body["throttlingReasons"][0]["reason"] == "TableReadKeyRangeThroughputExceeded"

    drive(scenario, {"scale": 0.01})


def test_what_is_not_dynamodb_goes_through_untouched() -> None:
    """Other services' calls, other paths and headers reach the endpoint as they are."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        async with client.get("/health?x=1") as answer:
            assert (answer.status, answer.headers["X-From"]) == (200, "stub")
        assert (await call("ListTables", {}))[0] == 200
        assert [name for name, _ in stub.calls] == ["", "ListTables"]

    drive(scenario)


@pytest.mark.parametrize("body", [{}, {"TableName": "orders"}, {"TableName": "orders", "Item": {"pk": 5}}])
def test_a_malformed_request_is_the_endpoints_to_refuse(body: dict[str, Any]) -> None:
    """The wall never answers for the endpoint what is not a throttle."""

    async def scenario(call: Call, stub: Stub, client: Client) -> None:
        stub.answers["PutItem"] = (400, {"__type": "x#ValidationException"})
        status, answer = await call("PutItem", body)
        assert (status, answer["__type"]) == (400, "x#ValidationException")

    drive(scenario)


def test_an_endpoint_that_is_away_is_named() -> None:
    """503 with DynamoDB's own word, so that a client tries again."""

    async def body() -> None:
        proxy = ThrottleProxy(ProxyOptions("http://127.0.0.1:9"))
        async with TestClient(TestServer(proxy.app())) as client:
            headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}
            async with client.post("/", data=json.dumps(put(1)), headers=headers) as answer:
                assert answer.status == 503
                assert "InternalServerError" in await answer.text()

    asyncio.run(body())


def test_a_changed_table_keeps_its_partitions_and_a_deleted_one_loses_them() -> None:
    """A new index gets partitions of its own; a table of the same name made anew starts anew."""
    gate = Throttler(PartitionModel(assumed=Assumptions()))
    gate.learn({**DESCRIPTION, "GlobalSecondaryIndexes": []}, 0)
    gate.model.space(TABLE).warm(10_000, 0, 0)
    gate.outdate("orders")
    assert gate.unknown_tables("PutItem", put(1)) == ["orders"]
    gate.learn(DESCRIPTION, 0)
    assert (len(gate.model.space(TABLE).partitions), len(gate.model.space(WORK).partitions)) == (10, 4)
    gate.forget("orders")
    assert not gate.model.knows(TABLE)
    assert not gate.model.knows(WORK)
