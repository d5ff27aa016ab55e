"""Staff look at parked orders and redrive them."""

from __future__ import annotations

import pytest

from shared.domain import transitions
from shared.domain.order import Lane
from shared.domain.times import MAX_TIME_MS
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.staff_scenes import park, read

_PARKED = "/v1/staff/parked"
_REDRIVE = f"{_PARKED}/redrive"


def pages(client: Client, query: str = "") -> list[str]:
    """Follow a list to its end; return the order ids."""
    ids: list[str] = []
    cursor = ""
    for _ in range(99):
        reply = client.ask("GET", f"{_PARKED}?{query}{cursor}")
        assert reply.status == 200, reply.text
        ids += [order["order_id"] for order in reply.json["orders"]]
        if "cursor" not in reply.json:
            return ids
        cursor = f"&cursor={reply.json['cursor']}"
    raise AssertionError("the list has no end")


def test_a_parked_order_is_shown_with_its_story(reader: Client, inner: SqliteStore) -> None:
    """Its error, its history, its seats, money and duties: what a person needs, and nothing to pay with."""
    order = park(inner, 7, error="The payment intent is not ours.")

    reply = reader.ask("GET", f"{_PARKED}/{order.key.order_id}")

    assert reply.status == 200
    shown = reply.json
    assert shown["parked"]["error"] == "The payment intent is not ours."
    assert (shown["parked"]["duty"], shown["parked"]["age_s"], shown["failures"]) == ("line", 5.0, 1)
    assert [entry["kind"] for entry in shown["history"]] == ["parked"]
    assert "client_secret" not in reply.text
    assert reader.ask("GET", f"{_PARKED}/{order.key.order_id}?event_id=gig").json == shown


@pytest.mark.parametrize("order_id", [f"1-{8:032x}", f"9-{7:032x}", "nonsense"])
def test_what_is_not_parked_is_not_found(reader: Client, inner: SqliteStore, order_id: str) -> None:
    """Neither an unknown id nor one of a map that is not there."""
    park(inner, 7)

    assert reader.ask("GET", f"{_PARKED}/{order_id}").status == 404


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", {1, 2, 3, 4, 5}),
        ("event_id=gig", {1, 2, 3, 4, 5}),
        ("error=TIMED%20out", {2, 4}),
        ("duty=line", {1, 2, 3, 4, 5}),
        ("duty=refund", set()),
        ("min_age_s=7", {1, 2, 3}),
        ("max_age_s=6", {4, 5}),
        ("min_age_s=7&error=timed%20out", {2}),
        ("limit=1", {1, 2, 3, 4, 5}),
    ],
)
def test_a_list_is_filtered_and_paged(reader: Client, inner: SqliteStore, query: str, numbers: set[int]) -> None:
    """By event, error text, duty and age; each order stands on one page."""
    for number in range(1, 6):
        park(inner, number, error="It timed out." if number % 2 == 0 else "It broke.", at_ms=number * 1_000)

    found = pages(reader, query)

    assert sorted(found) == [f"1-{number:032x}" for number in sorted(numbers)]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "min_age_s=-1", "cursor=x", "cursor=WzEsMiwzLDRd", "duty=A", "limit=x"]
)
def test_a_bad_question_names_its_member(reader: Client, query: str) -> None:
    """422, never 500."""
    reply = reader.ask("GET", f"{_PARKED}?{query}")

    assert reply.status == 422
    assert reply.json["field"]


def test_an_unknown_event_is_not_found(reader: Client) -> None:
    """Whatever stands for the event."""
    for event_id in ("nothing", "G%23g"):
        assert reader.ask("GET", f"{_PARKED}?event_id={event_id}").status == 404


def test_a_dry_run_counts_and_changes_nothing(staff: Client, inner: SqliteStore) -> None:
    """The count is what a redrive would take up; no order and no audit trail is touched."""
    orders = [park(inner, number) for number in (1, 2, 3)]

    reply = staff.ask("POST", _REDRIVE, {"filter": {"event_id": "gig"}, "dry_run": True})

    assert (reply.json["matched"], reply.json["redriven"]) == (3, 0)
    assert [read(inner, order) for order in orders] == orders
    assert inner.list_audit(limit=5) == ()


def test_a_redrive_takes_up_what_fits_and_is_audited(staff: Client, inner: SqliteStore) -> None:
    """They stand in their old lanes again with fresh attempts; the trail says who, and which."""
    stuck = [park(inner, number, error="It timed out.") for number in (1, 2)]
    other = park(inner, 3, error="It broke.")

    reply = staff.ask("POST", _REDRIVE, {"filter": {"error": "timed out"}})

    assert (reply.json["matched"], reply.json["redriven"]) == (2, 2)
    for order in stuck:
        now = read(inner, order)
        assert (now.parked, now.failures, now.work and now.work[0]) == (None, 0, Lane.LINE)
        assert [(str(entry.kind), entry.note) for entry in now.history][1:] == [("redriven", "boss")]
    assert read(inner, other) == other
    (entry,) = inner.list_audit(limit=5)
    assert (entry.who, entry.action, entry.subject) == ("boss", "redrive", "gig")
    assert all(order.key.order_id in entry.before for order in stuck)


def test_a_walk_leaves_alone_what_is_parked_again_meanwhile(
    staff: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """Orders that fail again at once do not keep a redrive going for ever."""
    for number in range(1, 9):
        park(inner, number)
    redriven = 0
    cursor: dict[str, str] = {}
    for _ in range(20):
        reply = staff.ask("POST", _REDRIVE, {"filter": {}, "limit": 3, **cursor})
        redriven += reply.json["redriven"]
        clock.advance(1)
        for shard in range(4):
            for hint in inner.due("gig", shard, Lane.LINE, until_ms=MAX_TIME_MS, limit=9).hints:
                order = inner.get_order(hint.key)
                assert order is not None
                again = transitions.park(order, op="again", now_ms=clock.now_ms(), error="Again.")
                inner.save(again, seen_rev=order.rev)
        if "cursor" not in reply.json:
            break
        cursor = {"cursor": reply.json["cursor"]}

    assert redriven == 8


def test_one_order_is_redriven_by_its_id(staff: Client, inner: SqliteStore) -> None:
    """Once: the second request finds nothing parked."""
    order = park(inner, 1)

    assert staff.ask("POST", _REDRIVE, {"order_id": order.key.order_id, "dry_run": True}).json["matched"] == 1
    assert staff.ask("POST", _REDRIVE, {"order_id": order.key.order_id}).json["redriven"] == 1
    assert staff.ask("POST", _REDRIVE, {"order_id": order.key.order_id}).status == 404
    (entry,) = inner.list_audit(limit=5)
    assert entry.subject == f"gig/{order.key.order_id}"


def test_scopes_are_needed(ann: Client, reader: Client, inner: SqliteStore) -> None:
    """Buyers see nothing; who may only look changes nothing."""
    order = park(inner, 1)

    assert ann.ask("GET", _PARKED).status == 403
    assert ann.ask("GET", f"{_PARKED}/{order.key.order_id}").status == 403
    assert reader.ask("POST", _REDRIVE, {}).status == 403


def test_a_page_costs_a_bounded_number_of_calls(staff: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """A large pile is read page by page."""
    for number in range(1, 300):
        park(inner, number)
    reply = staff.ask("GET", f"{_PARKED}?limit=100&error=nothing%20like%20it")

    assert reply.json["examined"] == 200
    assert "cursor" in reply.json
