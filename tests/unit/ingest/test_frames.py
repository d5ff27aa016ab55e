"""The console's frames: bounded reads whatever is stored and however many look, and a card alone in its trouble."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec.structs import replace

from ingest.console.board import FRAME_S
from ingest.console.cards.shard_strip import LOOKS
from ingest.console.cards.workers import SILENT_AFTER_S
from ingest.insight import Insight
from ingest.parts import Parts
from ingest.process import build_app
from shared.domain.errors import Unavailable
from shared.domain.sale import Pool
from shared.domain.stats.states import EventStates
from shared.ports.control import AuditEntry, CheckReport, Member, Notice, PoolNotice, Word
from shared.ports.stats import StatsStore
from shared.stores.faults import FaultyStore, Schedule
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts

ORDERS = 1_000_000
SHARDS = 512
FRAME = "/v1/staff/events/gig/frame"


@pytest.fixture
def stats(clock: FakeClock) -> Iterator[SqliteStats]:
    """Return statistics in memory."""
    with closing(SqliteStats(None, clock)) as stats:
        yield stats


@pytest.fixture
def parts(parts_over: MakeParts, store: FaultyStore, stats: StatsStore) -> Parts:
    """Return a process with statistics."""
    return with_stats(parts_over(store), stats)


def with_stats(parts: Parts, stats: StatsStore) -> Parts:
    """Give a process statistics."""
    return replace(parts, insight=Insight(parts.insight.watch, open_stats=lambda: stats))


def test_a_frame_shows_how_the_sale_stands(
    reader: Client, inner: SqliteStore, stats: SqliteStats, clock: FakeClock
) -> None:
    """Orders by status, seats with their sum, workers with their shards, checks and changes, each with its time."""
    stats.save_states(
        EventStates("gig", "s", {0: {"queued": 3, "held": 1}, 2: {"confirmed": 5, "parked": 1}}, 9_000), seen_rev=0
    )
    inner.accept(make_order(4))
    inner.beat(Member("worker-1", "a", 1))
    inner.note_check(CheckReport("verify", "gig", 8_000, good=True, facts={"I1": "true"}))
    inner.note_check(CheckReport("reconcile", "", 8_000, good=False, facts={"open": "2", "for_a_person": "1"}))
    inner.audit(AuditEntry(7_000, "boss", "pause_sale", "gig", "", "paused"))
    inner.publish("gig", Notice(9_000, {"floor": PoolNotice(Word.LAST, 0, sold_out=False)}, 3, 2_001, 2_003, 1.5))

    frame = reader.ask("GET", FRAME).json

    assert (frame["funnel"]["accepted"], frame["funnel"]["by_status"]) == (9, {"confirmed": 5, "held": 1, "queued": 3})
    assert (frame["funnel"]["waiting"], frame["funnel"]["drained_per_s"]) == (3, 1.5)
    assert frame["shards"]["depth"] == [3, 0, 0, 0]
    pool = frame["sales"]["pools"][0]
    assert (pool["unassigned"] + pool["unsold"] + pool["taken"] + pool["withheld"], pool["balanced"]) == (10, True)
    assert frame["sales"]["types"][0]["availability"] == "last"
    worker = frame["workers"]["workers"][0]
    assert (worker["live"], worker["shards"], worker["slices"]) == (True, [0, 1, 2, 3], ["floor/0"])
    assert (frame["parked"]["parked"], frame["parked"]["by_shard"]) == (1, {"2": 1})
    assert (frame["payments"]["open"], frame["payments"]["for_a_person"]) == (2, 1)
    assert (frame["verify"]["good"], frame["verify"]["invariants"]) == (True, {"I1": "true"})
    assert [change["action"] for change in frame["changes"]["changes"]] == ["pause_sale"]
    assert {frame[name]["as_of"] for name in ("funnel", "shards", "sales", "hot_keys")} == {"1970-01-01T00:00:10.000Z"}
    assert reader.ask("GET", f"{FRAME}/parked").json == frame["parked"]


def test_a_silent_worker_is_seen_by_its_beat_alone(reader: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """One whose beat moves lives; one whose beat stands still does not, and its shards are the other's."""
    inner.beat(Member("silent", "b", 1))
    for beat in range(5):
        inner.beat(Member("lively", "a", beat))
        reader.ask("GET", FRAME)
        clock.advance(SILENT_AFTER_S / 2)
    frame = reader.ask("GET", FRAME).json

    lively, silent = frame["workers"]["workers"]
    assert (lively["live"], lively["shards"]) == (True, [0, 1, 2, 3])
    assert (silent["live"], silent["shards"]) == (False, [])


def test_a_card_in_trouble_says_so_and_holds_up_no_other(
    parts_over: MakeParts, store: FaultyStore, clock: FakeClock
) -> None:
    """Without statistics their cards say why there is nothing; seats and workers are shown."""

    def silent() -> StatsStore:
        raise Unavailable("The statistics do not answer.")

    parts = parts_over(store)
    door = build_app(replace(parts, insight=Insight(parts.insight.watch, open_stats=silent)))

    frame = Client(door, "clerk", "staff:read").ask("GET", FRAME).json

    assert frame["funnel"]["trouble"] == "The statistics do not answer."
    assert "as_of" not in frame["funnel"]
    assert frame["sales"]["pools"][0]["balanced"] is True


def test_frames_are_for_staff_only(ann: Client, reader: Client) -> None:
    """A buyer's token is not enough; an unknown event or card is not found."""
    assert ann.ask("GET", FRAME).status == 403
    assert reader.ask("GET", "/v1/staff/events/none/frame").status == 404
    assert reader.ask("GET", f"{FRAME}/secrets").status == 404


def test_q15_five_consoles_over_a_million_orders_cost_bounded_reads(
    parts_over: MakeParts, script: Schedule, clock: FakeClock, stats: SqliteStats
) -> None:
    """With 1,000,000 orders and 512 shards, ten seconds of five consoles: few calls, short queries, never a scan."""
    inner = SqliteStore(None, clock)
    sale = make_sale(shard_counts=(SHARDS,), pools=(Pool("floor", 2_000_000),))
    inner.open_inventory(sale)
    inner.create_sale(sale)
    steps = _fill(inner._database._writer)
    depth = {shard: {"queued": ORDERS // SHARDS} for shard in range(SHARDS)}
    stats.save_states(EventStates("gig", "s", depth, 9_000), seen_rev=0)
    store = FaultyStore(inner, script)
    door = build_app(with_stats(parts_over(store), stats))
    consoles = [Client(door, f"clerk-{number}", "staff:read") for number in range(5)]

    steps.clear()
    for _ in range(10):
        frames = [console.ask("GET", FRAME) for console in consoles]
        assert [frame.status for frame in frames] == [200] * 5
        assert len({frame.text for frame in frames}) == 1
        clock.advance(FRAME_S)

    ages = consoles[0].ask("GET", f"{FRAME}/shards").json["oldest_s"]
    assert max(age or 0 for age in ages) > 0
    assert store.calls["list_orders"] == store.calls["depth"] == 0
    assert store.calls["due"] <= 6 * LOOKS
    assert store.calls.total() <= 11 * (LOOKS + 8)
    # A scan would take millions of the virtual machine's steps; what each reads here is found by an index.
    assert steps.total() * STEPS_A_TICK < ORDERS / 10
    inner.close()


def test_the_line_of_every_shard_is_looked_at_in_turn(
    parts_over: MakeParts, store: FaultyStore, inner: SqliteStore, clock: FakeClock, stats: SqliteStats
) -> None:
    """More shards than one look reads are all known after some looks."""
    busy = replace(make_sale(), event_id="wide", shard_counts=(3 * LOOKS,))
    inner.open_inventory(busy)
    inner.create_sale(busy)
    stats.save_states(EventStates("wide", "s", {n: {"queued": 1} for n in range(3 * LOOKS)}, 1), seen_rev=0)
    parts = with_stats(parts_over(store), stats)
    for _ in range(5):
        card = parts.board.frame(parts, "wide").shards
        assert card.looked_at == LOOKS
        clock.advance(FRAME_S)

    seen = parts.board._desks["wide"].memory
    assert seen is not None
    assert set(seen.oldest_ms) == set(range(3 * LOOKS))


STEPS_A_TICK = 100


def _fill(connection: sqlite3.Connection) -> Counter[str]:
    """Store a million waiting orders, and count the database's steps from then on."""
    text = '{"sk":"1-00","status":"queued","buyer":"b","demand":[["floor",1,0]],"accepted_at":5000}'
    # Shard after shard, so that the indexes grow at their ends.
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?)"
        " INSERT INTO orders (pk, sk, rev, work, item)"
        " SELECT printf('gig#%d', i * ? / ?), printf('1-%032x', i), 1, printf('line#%013d#1-%032x', 5000, i), ? FROM n",
        (ORDERS, SHARDS, ORDERS, text),
    )
    steps: Counter[str] = Counter()

    def tick() -> int:
        steps["ticks"] += 1
        return 0

    connection.set_progress_handler(tick, STEPS_A_TICK)
    return steps
