"""From stored orders through change log, pump and handler to counts, against a recount of the stored orders."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aws_lambda_powertools import Logger

from consumers.stream.handler import handle
from infra.local.ministack import REGION, create_local_tables
from infra.local.pump import Pump
from shared.domain import transitions
from shared.domain.errors import Unavailable
from shared.domain.order import Lane, Order, Reason, Status
from shared.domain.stats.window import LENGTHS_S, WindowStats, add_counts
from shared.domain.times import MAX_TIME_MS
from shared.ports.stats import StatsStore
from shared.ports.store import Store
from shared.settings import Settings
from shared.stores.dynamo.client import connect_streams
from shared.stores.dynamo.stream import DynamoChangeLog
from shared.stores.dynamo.tables import Tables
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from shared.system import SystemClock, SystemIds
from shared.wiring import open_stats, open_store
from tests.builders import make_order

LOGGER = Logger(service="test", level="CRITICAL")
ORDERS = 60
SHARDS = 4


class Moody(SqliteStats):
    """Fails every fifth write of a window."""

    def __init__(self) -> None:
        super().__init__(None, SystemClock())
        self._calls = itertools.count(1)

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        if next(self._calls) % 5 == 0:
            raise Unavailable
        return super().save_window(window, seen_rev=seen_rev)


class Time:
    """Monotonic seconds that pass at every look, so that a pump's pauses are over when it comes again."""

    def __init__(self) -> None:
        self._now = itertools.count(0, 10)

    def __call__(self) -> float:
        return float(next(self._now))


def sell(store: Store, numbers: range) -> None:
    """Take orders from ten buyers; cancel one in three, reject one in four of the others, leave the rest in line."""
    for number in numbers:
        order = make_order(number, buyer=f"buyer-{number % 10}")
        store.accept(order)
        store.accept(order)
        following = _next(order, number)
        if following is not None:
            assert store.save(following, seen_rev=order.rev).done


def _next(order: Order, number: int) -> Order | None:
    if number % 3 == 0:
        return transitions.cancel_queued(order, op=f"op-{number}", now_ms=5)
    if number % 4 == 0:
        return transitions.reject(order, op=f"op-{number}", now_ms=5, reason=Reason.SOLD_OUT)
    return None


def check_recount(store: Store, stats: StatsStore) -> None:
    """Assert that the counts are those of the orders as they are stored."""
    orders = [order for shard in range(SHARDS) for order in store.list_orders("gig", shard, limit=1_000).orders]
    settled = [order for order in orders if order.status is not Status.QUEUED]
    assert len(orders) == ORDERS
    for length_s in LENGTHS_S:
        windows = stats.read_windows(length_s, since_ms=0, until_ms=MAX_TIME_MS)
        counts = add_counts(window.counts for window in windows)
        assert (counts.writes, counts.arrivals) == (len(orders) + len(settled), len(orders))
        assert counts.changes == Counter(["new>queued"] * len(orders) + [f"queued>{order.status}" for order in settled])
        assert {name: row.writes for name, row in counts.keys.rows.items()} == Counter(
            order.key.partition for order in [*orders, *settled]
        )
        assert {name: row.arrivals for name, row in counts.buyers.rows.items()} == Counter(
            order.buyer_id for order in orders
        )
        for shard in range(SHARDS):
            depth = store.depth("gig", shard, Lane.LINE, most=1_000)
            assert counts.keys.rows[f"gig#{shard}"].depth == depth


def drain(pump: Pump) -> None:
    """Pump until nothing is left, counting pauses as turns."""
    idle = 0
    while idle < 3:
        idle = 0 if pump.step() else idle + 1


@pytest.fixture
def stats() -> Iterator[SqliteStats]:
    """Open statistics that fail now and then."""
    store = Moody()
    yield store
    store.close()


def test_a_log_that_splits_and_redelivers_over_failing_statistics(stats: SqliteStats, tmp_path: Path) -> None:
    """Whatever is split, delivered again or interrupted, the counts are those of the stored orders."""
    with closing(SqliteStore(None, SystemClock())) as store:

        def pump() -> Pump:
            return Pump(
                store,
                lambda event, _: handle(event, stats, LOGGER),
                cursors=tmp_path / "cursors.json",
                failed=tmp_path / "failed.jsonl",
                monotonic_s=Time(),
            )

        first = pump()
        sell(store, range(1, 21))
        first.step()
        for stream_shard in store.stream_shards()[:2]:
            store.split_stream_shard(stream_shard)
        sell(store, range(21, 41))
        for stream_shard in store.stream_shards():
            store.redeliver(stream_shard)
        drain(first)
        sell(store, range(41, 61))
        (tmp_path / "cursors.json").unlink()  # a new pump that has lost its place begins at the oldest record
        drain(pump())

        assert not (tmp_path / "failed.jsonl").exists()
        check_recount(store, stats)


def test_the_stream_of_dynamodb(ministack: str, tmp_path: Path) -> None:
    """The same over tables of DynamoDB and their stream, with every record delivered twice."""
    prefix = f"recount-{uuid.uuid4().hex[:8]}"
    create_local_tables(ministack, prefix)
    settings = Settings(store="dynamodb", dynamodb_url=ministack, table_prefix=prefix, region=REGION)
    clock = SystemClock()
    log = DynamoChangeLog(connect_streams(REGION, ministack), Tables(prefix).orders)
    with closing(open_store(settings, clock, SystemIds())) as store, closing(open_stats(settings, clock)) as stats:
        sell(store, range(1, ORDERS + 1))
        for turn in range(2):
            drain(
                Pump(
                    log,
                    lambda event, _: handle(event, stats, LOGGER),
                    cursors=tmp_path / f"cursors-{turn}.json",
                    failed=tmp_path / "failed.jsonl",
                    monotonic_s=Time(),
                )
            )
        check_recount(store, stats)
