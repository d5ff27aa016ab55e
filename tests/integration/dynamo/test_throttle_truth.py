"""Our throttle rate against the truth of the endpoint that models DynamoDB's partitions."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shared.domain.errors import Unavailable
from shared.domain.order import Lane
from shared.domain.throttling.report import Attempts
from shared.metering.watch import Watch
from shared.ports.store import Store
from shared.retry import RetryPolicy
from shared.settings import Settings
from shared.stores.dynamo.client import connect
from shared.stores.dynamo.tables import Tables, create_tables
from shared.system import SystemClock, SystemIds
from shared.wiring import open_store
from tests.builders import make_order, make_sale
from tests.contract.steps import batch_of

PREFIX = "truth"
# A partition of 10 writes and 30 reads a second: a small machine reaches it at once.
SCALE = "0.01"
QUICK = RetryPolicy(base_s=0.001, cap_s=0.005, budget=10_000)


@contextlib.contextmanager
def proxy(upstream: str) -> Iterator[str]:
    """Run the throttling endpoint as a process; give its address."""
    command = [sys.executable, "-m", "infra.model.proxy", "--upstream", upstream, "--scale", SCALE]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def truth_of(url: str) -> dict[str, Any]:
    """Ask the endpoint what it really answered."""
    with urllib.request.urlopen(f"{url}/_truth", timeout=10) as answer:  # noqa: S310 - our own address
        told: dict[str, Any] = json.load(answer)
    return told


def use(store: Store, number: int) -> None:
    """Do with one order what a sale does; one buyer in eight is the same."""
    order = make_order(number, buyer=f"buyer-{number % 8}")
    steps = (
        lambda: store.accept(order),
        lambda: store.get_order(order.key),
        lambda: store.due("gig", order.key.shard, Lane.LINE, until_ms=10_000, limit=10),
        lambda: store.hold_batch(batch_of([order], op=f"hold-{number}", max_per_buyer=100)),
        lambda: store.buyer_counts("gig", [order.buyer_id, "buyer-0"]),
        lambda: store.get_pool(make_sale(), "floor"),
    )
    for step in steps:
        with contextlib.suppress(Unavailable):
            step()


def by_operation(counted: Attempts) -> Counter[tuple[str, str]]:
    """Sum throttles by table and operation."""
    sums: Counter[tuple[str, str]] = Counter()
    for (table, _, operation, _, _), one in counted.throttles.items():
        sums[table, operation] += one.count
    return sums


def test_the_rate_we_report_is_the_rate_that_was_answered(ministack: str) -> None:
    """Difference 0, in all and by operation, where a hot key meets the wall of its partition."""
    clock = SystemClock()
    watch = Watch(clock)
    direct = connect("us-east-1", ministack)
    create_tables(direct, Tables(PREFIX))
    with proxy(ministack) as url:
        settings = Settings(store="dynamodb", dynamodb_url=url, table_prefix=PREFIX)
        store = open_store(settings, clock, SystemIds(), policy=QUICK, watch=watch)
        with contextlib.suppress(Unavailable):
            store.open_inventory(make_sale())
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: use(store, number), range(1, 81)))
        store.close()
        truth = truth_of(url)
    direct.close()

    counted = watch.ledger.read()
    assert truth["throttled_calls"] > 50
    assert truth["unpriced"] == {}
    assert counted.total - truth["calls"] == 0
    assert counted.throttled - truth["throttled_calls"] == 0
    assert counted.rate == truth["throttled_calls"] / truth["calls"]
    single = {"PutItem", "GetItem", "Query"}
    answered = Counter(
        {
            (row["table"].rpartition("-")[2], row["operation"]): row["throttled_requests"]
            for row in truth["attempts"]
            if row["operation"] in single and row["throttled_requests"]
        }
    )
    assert Counter({key: n for key, n in by_operation(counted).items() if key[1] in single}) == answered
    reasons = {row["reason"] for row in truth["throttles"]}
    assert {key[4] for key in counted.throttles if key[2] in single} <= reasons
