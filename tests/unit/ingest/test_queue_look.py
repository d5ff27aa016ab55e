"""Staff measure a queue and look at its heads without touching it."""

from __future__ import annotations

import pytest
from aws_lambda_powertools import Logger
from msgspec.structs import replace

from consumers.stream.handler import handle
from ingest.insight import Insight
from ingest.parts import Parts
from ingest.process import build_app
from ingest.queue_look import DEPTH_BUDGET
from shared.domain.errors import Throttled, Unavailable
from shared.domain.order import Lane
from shared.ports.stats import StatsStore
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from tests.builders import make_order
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts
from tests.unit.ingest.staff_scenes import confirm, park

_QUEUE = "/v1/staff/events/gig/queue"


class SilentShard(SqliteStore):
    """Does not answer about one shard."""

    silent: int | None = None

    def depth(self, event_id: str, shard: int, lane: Lane, *, most: int) -> int:
        if shard == self.silent:
            raise Throttled
        return super().depth(event_id, shard, lane, most=most)


def line_up(store: SqliteStore, count: int) -> None:
    """Store orders 1 … count, a millisecond apart."""
    for number in range(1, count + 1):
        store.accept(make_order(number))


def test_depth_and_age_are_told_by_lane_and_shard(reader: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """Sums for the sale, and each shard by itself; ages by the order's time in its lane."""
    line_up(inner, 6)
    park(inner, 10, at_ms=5_000)
    confirm(inner, 11, at_ms=6_000)

    reply = reader.ask("GET", _QUEUE)

    assert reply.status == 200
    lanes = reply.json["lanes"]
    assert {name: lane["depth"] for name, lane in lanes.items()} == {"line": 6, "timer": 0, "fulfil": 1, "parked": 1}
    assert lanes["line"]["oldest_age_s"] == 7.999
    assert lanes["parked"]["oldest_age_s"] == 5.0
    assert [shard["lanes"]["line"]["depth"] for shard in reply.json["shards"]] == [1, 2, 2, 1]
    assert "states" not in reply.json


def test_counts_by_status_come_from_the_stream(parts: Parts, inner: SqliteStore, clock: FakeClock) -> None:
    """With the time of the newest change that they know."""
    stats = SqliteStats(None, clock)
    line_up(inner, 3)
    park(inner, 5)
    for name in inner.stream_shards():
        records = inner.read_changes(name, cursor=None, limit=100).records
        handle({"Records": list(records), "shardId": name}, stats, Logger(service="test", level="CRITICAL"))
    clock.advance(5)

    def open_stats() -> StatsStore:
        return stats

    door = build_app(replace(parts, insight=Insight(parts.insight.watch, open_stats=open_stats)))
    shown = Client(door, "clerk", "staff:read").ask("GET", _QUEUE).json

    assert shown["states"] == {"queued": 4, "parked": 1}
    assert shown["states_age_s"] == 5.0
    assert [shard["states"] for shard in shown["shards"]] == [
        {},
        {"queued": 2, "parked": 1},
        {"queued": 1},
        {"queued": 1},
    ]
    stats.close()


def test_q15_a_look_costs_the_same_however_many_wait(reader: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """Q15: counting stops at a bound and says so, and five people looking cost what one does."""
    line_up(inner, DEPTH_BUDGET + 50)

    first = reader.ask("GET", _QUEUE).json
    calls = dict(store.calls)
    others = [reader.ask("GET", _QUEUE).json for _ in range(4)]

    line = first["lanes"]["line"]
    assert (line["depth"], line["at_least"]) == (DEPTH_BUDGET, True)
    assert all(other["lanes"] == first["lanes"] for other in others)
    # The sale is read by each, the shards by the first.
    assert {name: n - calls[name] for name, n in store.calls.items() if n > calls[name]} == {"get_sale": 4}


def test_a_silent_shard_hides_no_other(parts_over: MakeParts, clock: FakeClock, inner: SqliteStore) -> None:
    """It is named, and the sums leave it out."""
    silent = SilentShard(None, clock)
    sale = inner.get_sale("gig").sale
    silent.create_sale(sale)
    line_up(silent, 4)
    silent.silent = 2
    reader = Client(build_app(parts_over(silent)), "clerk", "staff:read")

    shown = reader.ask("GET", _QUEUE).json

    assert shown["silent_shards"] == [2]
    assert shown["lanes"]["line"]["depth"] == 3
    assert "lanes" not in shown["shards"][2]
    silent.close()


def test_a_peek_shows_the_first_and_takes_nothing(reader: Client, inner: SqliteStore) -> None:
    """Over all shards in the order of the line, or of one shard; the orders stay as they are."""
    line_up(inner, 9)
    before = [inner.get_order(make_order(number).key) for number in range(1, 10)]

    first = reader.ask("GET", f"{_QUEUE}/peek?limit=3").json["orders"]
    one = reader.ask("GET", f"{_QUEUE}/peek?shard=1&limit=9").json["orders"]

    assert [order["order_id"] for order in first] == [f"1-{number:032x}" for number in (1, 2, 3)]
    assert first[0]["age_s"] == 7.999
    assert first[0]["seats"] == {"floor": 1}
    assert [order["shard"] for order in one] == [1, 1, 1]
    assert [inner.get_order(make_order(number).key) for number in range(1, 10)] == before


@pytest.mark.parametrize("lane", list(Lane))
def test_every_lane_can_be_looked_at(reader: Client, inner: SqliteStore, lane: Lane) -> None:
    """Parked orders and those that wait for a program as well."""
    line_up(inner, 1)
    park(inner, 2)
    confirm(inner, 3)

    reply = reader.ask("GET", f"{_QUEUE}/peek?lane={lane}")

    assert reply.status == 200
    assert len(reply.json["orders"]) == (0 if lane is Lane.TIMER else 1)


@pytest.mark.parametrize(("query", "status"), [("lane=x", 422), ("limit=0", 422), ("shard=-1", 422), ("shard=9", 404)])
def test_a_bad_question_is_refused(reader: Client, query: str, status: int) -> None:
    """With a sentence, never 500."""
    assert reader.ask("GET", f"{_QUEUE}/peek?{query}").status == status


def test_scopes_and_events(ann: Client, reader: Client) -> None:
    """Buyers see nothing of it; an event that is not there is not found."""
    assert ann.ask("GET", _QUEUE).status == 403
    assert ann.ask("GET", f"{_QUEUE}/peek").status == 403
    assert reader.ask("GET", "/v1/staff/events/nothing/queue").status == 404
    assert reader.ask("GET", "/v1/staff/events/G%23g/queue/peek").status == 404


def test_statistics_that_do_not_answer_take_no_depth_away(parts: Parts, inner: SqliteStore) -> None:
    """Depths stand without the counts by status."""

    def open_stats() -> StatsStore:
        raise Unavailable

    line_up(inner, 2)
    door = build_app(replace(parts, insight=Insight(parts.insight.watch, open_stats=open_stats)))
    shown = Client(door, "clerk", "staff:read").ask("GET", _QUEUE).json

    assert shown["lanes"]["line"]["depth"] == 2
    assert "states" not in shown
