"""Copying orders for their buyers from the stream."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

import pytest
from aws_lambda_powertools import Logger
from msgspec.structs import replace

from consumers.stream.buyer_orders import Projection
from consumers.stream.handler import handle
from shared.domain import transitions
from shared.domain.errors import Unavailable
from shared.domain.order import Order, Payment, Reason, Status
from shared.domain.orphan import make_orphan
from shared.ports.buyer_orders import BuyerOrder
from shared.stores.sqlite.buyer_orders import SqliteBuyerOrders
from shared.stores.sqlite.stats import SqliteStats
from tests.builders import make_order
from tests.fakes.system import FakeClock
from tests.unit.stream.records import arrival, failures, make_event, make_record, spoil

LOGGER = Logger(service="test", level="CRITICAL")


class Failing(SqliteBuyerOrders):
    """Does not answer while told so; counts what is written."""

    silent = False
    written = 0

    def put(self, orders: Sequence[BuyerOrder]) -> None:
        if self.silent:
            raise Unavailable
        self.written += len(orders)
        super().put(orders)


@pytest.fixture
def copies() -> Iterator[Failing]:
    """Return copies in memory."""
    store = Failing(None)
    yield store
    store.close()


@pytest.fixture
def stats() -> Iterator[SqliteStats]:
    """Return statistics in memory."""
    store = SqliteStats(None, FakeClock())
    yield store
    store.close()


def deliver(stats: SqliteStats, copies: SqliteBuyerOrders, *records: object) -> list[int]:
    """Hand a batch to the handler; return what is to come again."""
    return failures(handle(make_event(*records), stats, LOGGER, None, Projection(copies, LOGGER)))


def life() -> list[Order]:
    """Return the versions of one order from its arrival to its expiry."""
    order = make_order(1)
    held = transitions.hold(order, op="h", now_ms=3_000, hold_ends_at_ms=9_000, slices={"floor": 0})
    asked = transitions.look_now(held, op="l", now_ms=4_000)
    ended = transitions.release(
        asked, asked.payment, op="r", now_ms=9_000, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
    )
    return [order, held, asked, ended]


def records_of(versions: list[Order]) -> list[dict[str, object]]:
    """Write a life as stream records."""
    before: list[Order | None] = [None, *versions]
    return [make_record(n + 1, old, new) for n, (old, new) in enumerate(zip(before, versions, strict=False))]


def test_a_buyer_sees_how_an_order_ended(stats: SqliteStats, copies: Failing) -> None:
    """One batch with an order's whole life is one write of its last version."""
    assert deliver(stats, copies, *records_of(life())) == []

    (order,) = copies.list_orders("ann", limit=5).orders
    assert (order.status, order.reason, order.rev) == (Status.EXPIRED, "not_paid_in_time", 4)
    assert copies.written == 1
    assert copies.progress_ms() == 10_004


def test_any_order_of_deliveries_ends_alike(stats: SqliteStats, copies: Failing) -> None:
    """Changes from other stream shards, late, twice, overlapping: the last version stands."""
    records = records_of(life()) * 3
    random.Random(3).shuffle(records)
    for n, record in enumerate(records):
        handle(make_event(record, shard=f"s{n % 4}"), stats, LOGGER, None, Projection(copies, LOGGER))

    (order,) = copies.list_orders("ann", limit=5).orders
    assert (order.status, order.rev) == (Status.EXPIRED, 4)


def test_what_no_buyer_sees_is_not_written(stats: SqliteStats, copies: Failing) -> None:
    """A change of duties alone costs no write, nor does what is nobody's order."""
    _, held, asked, _ = life()
    orphan = make_orphan(make_order(2).key, intent_id="pi_1", currency="EUR", op="o", now_ms=1_000)

    assert deliver(stats, copies, make_record(1, held, asked), make_record(2, None, orphan)) == []
    assert copies.written == 0


def test_a_silent_store_has_the_batch_come_again(stats: SqliteStats, copies: Failing) -> None:
    """All its records are reported; counts stay right, and the copies come with the next delivery."""
    copies.silent = True
    assert deliver(stats, copies, arrival(1, at_ms=1_000), arrival(2, at_ms=1_000)) == [1, 2]

    copies.silent = False
    assert deliver(stats, copies, arrival(1, at_ms=1_000), arrival(2, at_ms=1_000)) == []
    assert len(copies.list_orders("ann", limit=5).orders) == 2
    assert stats.list_states("gig")[0].counts == {0: {"queued": 2}}


def test_an_unreadable_record_spoils_no_copy(stats: SqliteStats, copies: Failing) -> None:
    """Only that record is reported; what is counted but no whole order is logged and passed."""
    half = arrival(3, at_ms=1_000)
    del half["dynamodb"]["NewImage"]["lines"]

    assert deliver(stats, copies, spoil(arrival(1, at_ms=1_000)), arrival(2, at_ms=1_000), half) == [1]
    assert [order.order_id for order in copies.list_orders("ann", limit=5).orders] == [f"1-{2:032x}"]


def test_refunds_show(stats: SqliteStats, copies: Failing) -> None:
    """What was paid back is part of the list, though the status stays."""
    order = replace(make_order(1), status=Status.CONFIRMED, rev=4)
    paid = replace(order, payment=Payment(captured_minor=2_500, refund_due_minor=500, refunded_minor=500), rev=5)
    deliver(stats, copies, make_record(1, order, paid))

    assert copies.list_orders("ann", limit=5).orders[0].refunded_minor == 500


def test_the_log_names_no_buyer(stats: SqliteStats, copies: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    """A change that cannot be copied is counted in the log, and nothing of it shown."""
    half = arrival(3, buyer="auth0|secret-buyer", at_ms=1_000)
    del half["dynamodb"]["NewImage"]["lines"]
    logger = Logger(service="copy-test")
    handle(make_event(half), stats, logger, None, Projection(copies, logger))
    written = capsys.readouterr().out

    assert json.loads(written)["count"] == 1
    assert "secret-buyer" not in written
