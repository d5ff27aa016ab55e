"""Programs outside take, extend, complete and give back orders by receipt."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.door import Door
from shared.domain.order import Duty, Lane
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.staff_scenes import confirm, park, read


@pytest.fixture(autouse=True)
def _asks_for_fulfilment(inner: SqliteStore) -> None:
    sale = inner.get_sale("gig").sale
    assert inner.save_sale(make_sale(fulfilment=True, version=sale.version + 1), seen_version=sale.version)


@pytest.fixture
def other(door: Door) -> Client:
    """Return another program."""
    return Client(door, "robot-2", "staff:write")


def pull(client: Client, stage: str = "fulfilment", **body: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a body's members
    """Take orders; return the items."""
    reply = client.ask("POST", f"/v1/staff/{stage}/pull", {"max": 10, "visibility_s": 60, **body})
    assert reply.status == 200, reply.text
    items: list[dict[str, Any]] = reply.json["items"]
    return items


def test_confirmed_orders_are_handed_out_once(staff: Client, other: Client, inner: SqliteStore) -> None:
    """With tickets and holder, each to one caller at a time, hidden while it is worked on."""
    orders = [confirm(inner, number) for number in (1, 2, 3)]
    mine, theirs = pull(staff, max=2), pull(other)

    assert len(mine) == 2
    assert len(theirs) == 1
    assert {item["order"]["order_id"] for item in mine + theirs} == {order.key.order_id for order in orders}
    assert (mine[0]["tickets"], mine[0]["holder"]) == (["CODE"], "Jørgen")
    assert mine[0]["hidden_until"] == "1970-01-01T00:01:10.000Z"
    assert pull(other) == []


def test_q18_the_late_one_is_told_and_there_is_one_effect(
    staff: Client, other: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """Q18: its time ran out, another took the order: completing gets 409, and the other's counts, once."""
    order = confirm(inner, 1)
    (first,) = pull(staff, visibility_s=10)
    clock.advance(10)
    (second,) = pull(other)

    late = staff.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": first["receipt"]})
    assert (late.status, late.problem) == (409, "receipt-superseded")
    assert Duty.FULFIL in read(inner, order).duties

    done = other.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": second["receipt"]})
    assert done.status == 200
    now = read(inner, order)
    assert now.work is None
    again = other.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": second["receipt"]})
    assert again.status == 200
    assert read(inner, order) == now
    assert staff.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": first["receipt"]}).status == 409


def test_time_alone_takes_nothing_away(staff: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """A program that is late and alone has done its work."""
    order = confirm(inner, 1)
    (item,) = pull(staff, visibility_s=10)
    clock.advance(3_600)

    assert staff.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": item["receipt"]}).status == 200
    assert read(inner, order).work is None


def test_extending_hides_for_longer(staff: Client, other: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """Counted from the request."""
    confirm(inner, 1)
    (item,) = pull(staff, visibility_s=10)
    clock.advance(9)
    body = {"receipt": item["receipt"], "visibility_s": 20}

    reply = staff.ask("POST", "/v1/staff/fulfilment/extend", body)

    assert reply.json["hidden_until"] == "1970-01-01T00:00:39.000Z"
    clock.advance(19)
    assert pull(other) == []
    clock.advance(1)
    assert len(pull(other)) == 1


def test_what_is_given_back_is_there_at_once(staff: Client, other: Client, inner: SqliteStore) -> None:
    """And the receipt ends with the next taker."""
    confirm(inner, 1)
    (item,) = pull(staff)
    body = {"receipt": item["receipt"]}

    assert staff.ask("POST", "/v1/staff/fulfilment/give-back", body).status == 200
    assert staff.ask("POST", "/v1/staff/fulfilment/give-back", body).status == 200
    assert len(pull(other)) == 1
    assert staff.ask("POST", "/v1/staff/fulfilment/give-back", body).status == 409


def test_parked_orders_are_taken_and_completed_into_a_redrive(staff: Client, other: Client, inner: SqliteStore) -> None:
    """A program that mended the cause has the order taken up again; tickets are none of its business."""
    order = park(inner, 1)
    (item,) = pull(staff, "parked")
    assert "tickets" not in item
    assert item["order"]["parked"]["hidden_until"]
    assert pull(other, "parked") == []

    for _ in range(2):
        reply = staff.ask("POST", "/v1/staff/parked/complete", {"receipt": item["receipt"]})
        assert reply.status == 200

    now = read(inner, order)
    assert (now.parked, now.work and now.work[0]) == (None, Lane.LINE)
    assert now.rev == order.rev + 2


def test_every_step_is_audited(staff: Client, inner: SqliteStore) -> None:
    """Who did what to which order."""
    order = confirm(inner, 1)
    (item,) = pull(staff)
    for step, more in (("extend", {"visibility_s": 99}), ("give-back", {}), ("complete", {})):
        staff.ask("POST", f"/v1/staff/fulfilment/{step}", {"receipt": item["receipt"], **more})

    trail = inner.list_audit(limit=9)
    assert {entry.action for entry in trail} == {
        "pull_fulfilment",
        "extend_fulfilment",
        "give_back_fulfilment",
        "complete_fulfilment",
    }
    assert {entry.who for entry in trail} == {"boss"}
    assert all(order.key.order_id in entry.subject + entry.after for entry in trail)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max": 0}, "max"),
        ({"max": 101}, "max"),
        ({"visibility_s": 9}, "visibility_s"),
        ({"visibility_s": 43_201}, "visibility_s"),
        ({"max": True}, "max"),
        ({"more": 1}, "more"),
    ],
)
def test_bounds_are_kept(staff: Client, body: dict[str, Any], field: str) -> None:
    """100 orders at most, for 10 seconds to 12 hours."""
    reply = staff.ask("POST", "/v1/staff/fulfilment/pull", body)

    assert (reply.status, reply.json["field"]) == (422, field)


@pytest.mark.parametrize("receipt", ["x", "é", "Z2lnIzEjMg", "a" * 400, "bm90aGluZyMxLTAjb3A"])
def test_a_foreign_receipt_is_not_found(staff: Client, receipt: str) -> None:
    """404, whatever it looks like."""
    for step, more in (("extend", {"visibility_s": 99}), ("give-back", {}), ("complete", {})):
        reply = staff.ask("POST", f"/v1/staff/fulfilment/{step}", {"receipt": receipt, **more})
        assert reply.status == 404


def test_scopes_are_needed(ann: Client, reader: Client) -> None:
    """Only staff that may change things take orders."""
    for stage in ("fulfilment", "parked"):
        for client in (ann, reader):
            assert client.ask("POST", f"/v1/staff/{stage}/pull", {}).status == 403


def test_only_the_event_that_is_named(staff: Client, inner: SqliteStore) -> None:
    """One event's orders, or 404 when there is no such event."""
    confirm(inner, 1)

    assert staff.ask("POST", "/v1/staff/fulfilment/pull", {"event_id": "nothing"}).status == 404
    assert len(pull(staff, event_id="gig")) == 1
