"""The seed case before and after, before one and the same wall: a crowd joins one event in its opening burst.

Before: the layout that is written first and found too slow on the night. All joins of an event under one partition key,
each a transaction of the counter and the join: four write units on one partition, so 250 joins/s at DynamoDB's own size
(the published runs let 271 and 273 of 1,000 in). After: our layout, one conditional write an order, spread over 128
shards. Nobody repeats anything: what is counted is what the wall lets through of one attempt each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from infra.bench.bench_sale import bench_order
from infra.bench.where_and_when import where_and_when
from infra.local.ministack import REGION, Ministack
from shared.domain.errors import Throttled, Unavailable
from shared.stores.dynamo.client import Calls, connect
from shared.stores.dynamo.expressions import put, update
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables

THREADS = 16
GAME = "game"
_ORDERS = "onsale-bench"

Join = Callable[[int], object]


def run(*, scale: float, joins: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Send `joins · scale` joins at once to each layout, limits being at `scale` of their size."""
    crowd = max(1, round(joins * scale))
    with ExitStack() as undo:
        emulator = undo.enter_context(Ministack())
        url = undo.enter_context(_wall(emulator.url, scale))
        client = connect(REGION, url)
        undo.callback(client.close)
        client.create_table(
            TableName=GAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
        )
        create_tables(client, Tables(_ORDERS))
        calls = Calls(client)
        store = DynamoStore(client, Tables(_ORDERS))
        say("One key and its counter")
        before = _rush(crowd, lambda number: calls.transact(_join(number)))
        say("Our layout")
        now_ms = time.time_ns() // 1_000_000
        after = _rush(crowd, lambda number: store.accept(bench_order(number, now_ms)))
    return {
        **where_and_when(),
        "against": "one partition key with a counter transaction, on the same throttling endpoint in the same run",
        "scale": scale,
        "one_key": before,
        "our_layout": after,
    }


def _join(number: int) -> list[dict[str, Any]]:
    count = update(
        GAME, {"pk": "event", "sk": "count"}, "ADD #joined :one", "attribute_not_exists(#closed)", {"one": 1}
    )
    return [
        {"Update": count},
        {"Put": put(GAME, {"pk": "event", "sk": f"player-{number}"}, "attribute_not_exists(#pk)")},
    ]


def _rush(crowd: int, join: Join) -> dict[str, Any]:
    """Let everybody in at once, by one attempt each."""
    began_s = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(lambda number: _attempt(join, number), range(crowd)))
    return {
        "joins": crowd,
        "let_in": outcomes.count("in"),
        "let_in_of_1000": round(1_000 * outcomes.count("in") / crowd),
        "throttled_attempts": outcomes.count("throttled"),
        "other_failures": outcomes.count("failed"),
        "seconds": round(time.perf_counter() - began_s, 3),
    }


def _attempt(join: Join, number: int) -> str:
    try:
        join(number)
    except Throttled:
        return "throttled"
    except Unavailable:
        return "failed"
    return "in"


@contextmanager
def _wall(upstream: str, scale: float) -> Iterator[str]:
    """Put DynamoDB's limits before an endpoint; yields their address."""
    child = subprocess.Popen(  # noqa: S603 - one of our own modules
        [sys.executable, "-m", "infra.model.proxy", "--upstream", upstream, "--scale", str(scale)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if child.stdout is None:
            raise AssertionError("the child was started with a pipe")
        said = child.stdout.readline()
        if not said:
            raise Unavailable("The throttling endpoint did not start; `onsale throttle-proxy` says why.")
        yield str(json.loads(said)["url"])
    finally:
        child.terminate()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
