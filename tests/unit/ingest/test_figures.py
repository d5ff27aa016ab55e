"""What staff see behind the scenes: throttles, hot keys, and one order's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from consumers.stream.handler import handle
from ingest.insight import Insight
from ingest.parts import Parts
from ingest.process import build_app
from shared.domain import transitions
from shared.domain.order import Duty, Order, Payment, PaymentState, Reason
from shared.domain.order_id import locate_order
from shared.domain.throttling.request import OK, Ending, Request, Throttle
from shared.metering.snapshot import snapshot_of
from shared.metering.watch import Watch
from shared.retry import Finished
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.stream.records import make_record

REASON = "TableWriteKeyRangeThroughputExceeded"


@pytest.fixture
def stats(clock: FakeClock) -> Iterator[SqliteStats]:
    """Return statistics in memory."""
    found = SqliteStats(None, clock)
    yield found
    found.close()


def test_throttles_are_shown_of_all_processes_and_explained(parts: Parts, clock: FakeClock) -> None:
    """The rate is throttled attempts over attempts of every process; key, limit and cure stand in a sentence."""
    watch, other = Watch(clock), Watch(clock)
    request = Request("PutItem", "orders", "", "gig#1", writes=True, demand={"gig#1": 1.0})
    for number in range(2_400):
        watch.ledger.note(request, OK if number % 3 else Ending("throttled", Throttle("orders", "", "gig#1", REASON)))
    other.ledger.note(request, OK)
    other.finished(Finished("accept", 3, 0.004, 0.2, "ok"))
    old = snapshot_of("worker-1", other, clock.now_ms())
    clock.advance(1.5)
    door = build_app(replace(parts, insight=Insight(watch, lambda: [old])))

    shown = Client(door, "clerk", "staff:read").ask("GET", "/v1/staff/throttles").json
    assert shown["total"] == {"attempts": 2_401, "throttled": 800, "failed": 0, "throttle_rate": 0.333195}
    assert shown["processes"] == [{"process": "API", "age_s": 0.0}, {"process": "worker-1", "age_s": 1.5}]
    assert shown["age_s"] == 1.5
    (one,) = shown["throttles"]
    assert (one["key"], one["reason"], one["count"]) == ("gig#1", REASON, 800)
    assert one["more_shards"] > 0
    assert "1,000 write units" in one["sentence"]
    assert f"{one['more_shards']} more shards" in one["sentence"]
    assert shown["keys"][0]["key"] == "gig#1"
    assert sum(moment["throttled"] for moment in shown["over_time"]) == 800
    (call,) = shown["calls"]
    assert (call["call"], call["repeated"], call["first_attempt_p99_s"]) == ("accept", 1, 0.005)
    assert call["retrying_mean_s"] == 0.2


def test_hot_keys_are_shown(parts: Parts, clock: FakeClock, stats: SqliteStats) -> None:
    """Like the command's JSON; a range out of bounds is refused by name."""
    handle({"Records": [make_record(n) for n in range(1, 9)], "shardId": "s"}, stats, parts.logger)
    door = build_app(replace(parts, insight=Insight(Watch(clock), open_stats=lambda: stats)))
    clerk = Client(door, "clerk", "staff:read")

    shown = clerk.ask("GET", "/v1/staff/hot-keys").json
    assert shown["arrivals"] == shown["writes"] == 8
    assert shown["events"]["top"][0]["name"] == "gig"
    assert shown["skew"]["gig"]["shards"] == 4


def test_without_statistics_staff_are_told_to_come_again(reader: Client) -> None:
    """503 with a sentence, and nothing else suffers."""
    reply = reader.ask("GET", "/v1/staff/hot-keys")
    assert reply.status == 503
    assert reader.ask("GET", "/v1/staff/throttles").status == 200


@pytest.mark.parametrize("path", ["/v1/staff/throttles", "/v1/staff/hot-keys", "/v1/staff/events/gig/orders/x/trace"])
def test_only_staff_look_there(ann: Client, path: str) -> None:
    """A buyer's token is not enough."""
    assert ann.ask("GET", path).status == 403


def save(store: SqliteStore, order: Order) -> Order:
    """Store the next version."""
    assert store.save(order, seen_rev=order.rev - 1).done
    return order


def test_a_trace_tells_the_whole_life(
    ann: Client, reader: Client, inner: SqliteStore, store: FaultyStore, clock: FakeClock
) -> None:
    """A row per step in the order of time, what is still due, and by which request it came: one read."""
    where = ann.ask(
        "POST",
        "/v1/events/gig/orders",
        {"lines": [{"ticket_type_id": "standing", "quantity": 1}], "holder": "Ann Holder"},
        headers={"x-correlation-id": "c-77"},
    ).headers["Location"]
    order = inner.get_order(locate_order("gig", where.rpartition("/")[2], (4,)))
    assert order is not None
    order = save(inner, transitions.fail(order, {Duty.REJOIN: 12_000}, op="a", now_ms=11_000, error="It broke."))
    order = save(inner, transitions.rejoin(order, op="b", now_ms=12_000))
    order = save(inner, transitions.hold(order, op="c", now_ms=13_000, hold_ends_at_ms=73_000, slices={"floor": 0}))
    declined = Payment(method="pm_1", attempt=1, state=PaymentState.DECLINED, client_secret="pi_1_secret_2")
    order = save(inner, transitions.note_payment(order, declined, order.duties, op="d", now_ms=14_000))
    paid = replace(declined, state=PaymentState.PAID, captured_minor=2_500, client_secret=None)
    order = save(inner, transitions.confirm(order, paid, op="e", now_ms=15_000, tickets=("TICKET",), fulfilment=True))
    store.calls.clear()

    reply = reader.ask("GET", f"/v1/staff{where.removeprefix('/v1')}/trace")
    assert [(row["step"], row["after_s"]) for row in reply.json["rows"]] == [
        ("accepted", 0.0),
        ("failed", 1.0),
        ("looked", 2.0),
        ("held", 3.0),
        ("payment_declined", 4.0),
        ("confirmed", 5.0),
    ]
    assert reply.json["rows"][1]["note"] == "line: It broke."
    assert reply.json["ahead"][0]["duty"] == "fulfil"
    assert reply.json["correlation_id"] == "c-77"
    assert reply.json["duration_s"] == 5.0
    assert store.calls.total() == 1
    for secret in ("ann", "Ann Holder", "pm_1", "secret", "TICKET"):
        assert secret not in reply.text


def test_an_ending_is_traced_with_its_reason(ann: Client, reader: Client, inner: SqliteStore) -> None:
    """Why an order ended stands in the row of its ending."""
    where = ann.order().headers["Location"]
    order = inner.get_order(locate_order("gig", where.rpartition("/")[2], (4,)))
    assert order is not None
    save(inner, transitions.reject(order, op="a", now_ms=12_000, reason=Reason.SOLD_OUT))

    rows = reader.ask("GET", f"/v1/staff{where.removeprefix('/v1')}/trace").json["rows"]
    assert (rows[-1]["step"], rows[-1]["note"]) == ("rejected", "sold_out")
    assert reader.ask("GET", "/v1/staff/events/gig/orders/1-00/trace").status == 404
