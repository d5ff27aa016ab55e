"""The live frame that every buyer follows."""

from __future__ import annotations

from shared.ports.control import Notice, PoolNotice, Word
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client

LIVE = "/v1/events/gig/live"


def test_it_tells_availability_and_how_far_the_line_has_come(ann: Client, inner: SqliteStore) -> None:
    """Whoever was accepted before the first waiting order has left the line."""
    inner.publish("gig", Notice(9_000, {"floor": PoolNotice(Word.WAITING, 1, sold_out=False)}, 7, 4_000, 8_000, 2.5))

    frame = ann.ask("GET", LIVE).json

    assert (frame["status"], frame["availability"], frame["waiting"]) == ("open", {"standing": "waiting"}, 7)
    assert frame["line_at"] == "1970-01-01T00:00:04.000Z"


def test_without_a_line_it_has_come_as_far_as_the_notice(ann: Client, inner: SqliteStore) -> None:
    """Nobody waits: everybody accepted until the workers looked has left the line."""
    inner.publish("gig", Notice(9_000, {}, 0, None, None, 0.0))

    assert ann.ask("GET", LIVE).json["line_at"] == "1970-01-01T00:00:09.000Z"


def test_it_is_the_same_for_all_and_costs_one_read_a_second(
    ann: Client, bob: Client, store: FaultyStore, clock: FakeClock
) -> None:
    """A hundred listeners within a second are one control read; caches on the way may keep it as long."""
    answers = {client.ask("GET", LIVE).text for client in (ann, bob) * 50}

    assert len(answers) == 1
    assert store.calls.total() == 1
    assert ann.ask("GET", LIVE).headers["Cache-Control"] == "public, max-age=2"


def test_an_unknown_event_has_none(ann: Client) -> None:
    """404, as for the event itself."""
    assert ann.ask("GET", "/v1/events/none/live").problem == "not-found"
