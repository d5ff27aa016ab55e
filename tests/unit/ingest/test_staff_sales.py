"""Staff define, watch and change sales."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import force_setattr

from shared.domain.errors import NotFound
from shared.domain.sale import SaleStatus
from shared.ports.control import AuditEntry
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client

DEFINITION: dict[str, Any] = {
    "event_id": "ball",
    "name": "The Ball",
    "currency": "EUR",
    "opens_at": "2027-03-01T10:00:00+01:00",
    "closes_at": "2027-03-08T10:00:00+01:00",
    "pools": [{"pool_id": "floor", "capacity": 1000}],
    "ticket_types": [{"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", "price": "25.00"}],
}


def _with(**changes: object) -> dict[str, Any]:
    return {**copy.deepcopy(DEFINITION), **changes}


def _priced(currency: str, **price: object) -> dict[str, Any]:
    kind = {"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", **price}
    return _with(currency=currency, ticket_types=[kind])


def test_a_sale_is_defined_and_can_be_read(staff: Client, reader: Client, ann: Client, inner: SqliteStore) -> None:
    """A definition answers 201 with its location; its seats are open, its times are in UTC, its salt is nowhere."""
    reply = staff.ask("POST", "/v1/staff/sales", DEFINITION)

    assert (reply.status, reply.headers["Location"]) == (201, "/v1/staff/sales/ball")
    shown = reader.ask("GET", reply.headers["Location"])
    assert shown.json["opens_at"] == "2027-03-01T09:00:00.000Z"
    assert shown.json["pools"][0] | {"version": 0} == {
        "pool_id": "floor",
        "capacity": 1000,
        "slices": 1,
        "unassigned": 0,
        "unsold": 1000,
        "taken": 0,
        "withheld": 0,
        "round": 0,
        "sold_out": False,
        "version": 0,
    }
    salt = inner.get_sale("ball").sale.salt
    assert len(set(salt)) > 1
    for text in (reply.text, shown.text, ann.ask("GET", "/v1/events/ball").text):
        assert salt.hex() not in text
        assert "salt" not in text


def test_the_same_definition_again_changes_nothing(staff: Client, inner: SqliteStore) -> None:
    """A repeat is answered 200 with the sale that stands; its salt, status and version stay."""
    staff.ask("POST", "/v1/staff/sales", DEFINITION)
    staff.ask("POST", "/v1/staff/sales/ball/pause", {})
    stands = inner.get_sale("ball").sale

    again = staff.ask("POST", "/v1/staff/sales", DEFINITION)

    assert (again.status, again.json["status"]) == (200, "paused")
    assert inner.get_sale("ball").sale == stands


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Another ball"},
        {"pools": [{"pool_id": "floor", "capacity": 999}]},
        {"shards": 17},
        {"max_per_buyer": 4},
        {"accept_per_s": 7},
        {"currency": "USD"},
    ],
)
def test_another_definition_under_the_same_id_is_refused(
    changes: dict[str, Any], staff: Client, inner: SqliteStore
) -> None:
    """409, and the first definition stands."""
    staff.ask("POST", "/v1/staff/sales", DEFINITION)
    stands = inner.get_sale("ball").sale

    reply = staff.ask("POST", "/v1/staff/sales", _with(**changes))

    assert (reply.status, reply.problem) == (409, "other-definition")
    assert inner.get_sale("ball").sale == stands


def test_seats_of_another_definition_are_not_taken_over(staff: Client, inner: SqliteStore) -> None:
    """Of two definitions at the same moment the second is refused, so that no sale contradicts its seats."""
    inner.open_inventory(make_sale(event_id="ball"))

    reply = staff.ask("POST", "/v1/staff/sales", DEFINITION)

    assert (reply.status, reply.problem) == (409, "other-definition")
    with pytest.raises(NotFound):
        inner.get_sale("ball")


@pytest.mark.parametrize("script", [Script({("create_sale", 1): Fault.UNAVAILABLE})])
def test_a_broken_off_definition_can_be_repeated(script: Schedule, staff: Client, inner: SqliteStore) -> None:
    """Seats opened, sale not stored: the same definition again completes it."""
    assert staff.ask("POST", "/v1/staff/sales", DEFINITION).status == 503
    assert staff.ask("POST", "/v1/staff/sales", DEFINITION).status == 201
    assert inner.get_pool(inner.get_sale("ball").sale, "floor").capacity == 1000


@pytest.mark.parametrize(
    ("currency", "price", "minor"),
    [
        ("JPY", "80", 80),
        ("KWD", "18.600", 18_600),
        ("BHD", "35.200", 35_200),
        ("ISK", "5000", 5_000),
        ("UGX", "5000", 5_000),
        ("EUR", "19.99", 1_999),
        ("EUR", "8.20", 820),
        ("EUR", "1.15", 115),
        ("EUR", "8.2", 820),
        ("EUR", "0", 0),
    ],
)
def test_a_decimal_price_is_exact(currency: str, price: str, minor: int, staff: Client) -> None:
    """R7: decimal text becomes whole minor units by the currency's own exponent."""
    reply = staff.ask("POST", "/v1/staff/sales", _priced(currency, price=price))

    assert reply.status == 201
    assert reply.json["ticket_types"][0]["price"]["minor"] == minor


@pytest.mark.parametrize(
    ("currency", "price", "field"),
    [
        ("KWD", {"price": "1.005"}, "ticket_types.0.price"),
        ("JPY", {"price": "80.5"}, "ticket_types.0.price"),
        ("EUR", {"price": "19.999"}, "ticket_types.0.price"),
        ("EUR", {"price": "0.29"}, "ticket_types.0.price"),
        ("EUR", {"price_minor": 29}, "ticket_types.0.price_minor"),
        ("KWD", {"price_minor": 18_605}, "ticket_types.0.price_minor"),
        ("EUR", {"price": 19.99}, "ticket_types.0.price"),
        ("EUR", {"price": "1e2"}, "ticket_types.0.price"),
        ("EUR", {"price": "-1"}, "ticket_types.0.price"),
        ("EUR", {"price": "NaN"}, "ticket_types.0.price"),
        ("EUR", {"price": "1_0"}, "ticket_types.0.price"),
        ("EUR", {"price_minor": 2.0}, "ticket_types.0.price_minor"),
        ("EUR", {"price_minor": -1}, "ticket_types.0.price_minor"),
        ("EUR", {"price_minor": 2**53 + 1}, "ticket_types.0.price_minor"),
        ("EUR", {}, "ticket_types.0.price"),
        ("EUR", {"price": "1.00", "price_minor": 100}, "ticket_types.0.price"),
        ("XAU", {"price": "1"}, "currency"),
        ("ZZZ", {"price": "1"}, "currency"),
        ("eur", {"price": "1.00"}, "currency"),
    ],
)
def test_a_price_that_cannot_be_charged_exactly_is_refused(
    currency: str, price: dict[str, Any], field: str, staff: Client, store: FaultyStore
) -> None:
    """R7: whatever the payment service could not charge to the unit is refused when the sale is defined."""
    reply = staff.ask("POST", "/v1/staff/sales", _priced(currency, **price))

    assert (reply.status, reply.json["field"]) == (422, field)
    assert store.calls["create_sale"] == 0


@pytest.mark.parametrize("field", ["opens_at", "closes_at"])
@pytest.mark.parametrize("time", ["2027-03-01T10:00:00", "2027-03-01", "soon", "", "9" * 41, "1969-01-01T00:00:00Z", 1])
def test_a_time_needs_an_offset(field: str, time: object, staff: Client, store: FaultyStore) -> None:
    """R12: a time that would mean another moment in every office is 422."""
    reply = staff.ask("POST", "/v1/staff/sales", _with(**{field: time}))

    assert (reply.status, reply.json["field"]) == (422, field)
    assert store.calls["create_sale"] == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"event_id": "Ball"}, "event_id"),
        ({"event_id": "a#b"}, "event_id"),
        ({"event_id": "a/b"}, "event_id"),
        ({"event_id": "x" * 65}, "event_id"),
        ({"name": " "}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"closes_at": DEFINITION["opens_at"]}, "closes_at"),
        ({"pools": []}, "pools"),
        ({"pools": [{"pool_id": "floor", "capacity": 0}]}, "pools.0.capacity"),
        ({"pools": [{"pool_id": "floor", "capacity": 1000, "slices": 3}]}, "pools.0.slices"),
        ({"pools": [{"pool_id": "floor", "capacity": 10}] * 2}, "pools.1.pool_id"),
        ({"ticket_types": DEFINITION["ticket_types"] * 2}, "ticket_types.1.ticket_type_id"),
        ({"ticket_types": DEFINITION["ticket_types"] * 51}, "ticket_types"),
        ({"shards": 0}, "shards"),
        ({"shards": 1025}, "shards"),
        ({"max_per_order": 51}, "max_per_order"),
        ({"accept_per_s": 0}, "accept_per_s"),
        ({"when_short": "maybe"}, "when_short"),
        ({"salt": "00" * 16}, "salt"),
        ({"fulfilment": 1}, "fulfilment"),
    ],
)
def test_a_definition_keeps_the_rules(changes: dict[str, Any], field: str, staff: Client, store: FaultyStore) -> None:
    """What no sale may be is 422 naming the field, and nothing is stored."""
    reply = staff.ask("POST", "/v1/staff/sales", _with(**changes))

    assert (reply.status, reply.json["field"]) == (422, field)
    assert store.calls["open_inventory"] == 0


def test_every_option_is_kept(staff: Client, inner: SqliteStore) -> None:
    """What staff choose is what is stored."""
    staff.ask(
        "POST",
        "/v1/staff/sales",
        _with(
            shards=64,
            max_per_order=4,
            max_per_buyer=8,
            hold_ttl_s=120,
            accept_per_s=500,
            when_short="reject",
            fulfilment=True,
            pools=[{"pool_id": "floor", "capacity": 2000, "slices": 4}],
        ),
    )

    sale = inner.get_sale("ball").sale
    assert (sale.shard_counts, sale.max_per_order, sale.max_per_buyer, sale.hold_ttl_s) == ((64,), 4, 8, 120)
    assert (sale.accept_per_s, str(sale.when_short), sale.fulfilment, sale.pools[0].slices) == (500, "reject", True, 4)


def test_a_pause_is_seen_at_once_and_ends(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """The process that paused refuses from then on, and takes orders again after the resume."""
    assert ann.order().status == 202

    paused = staff.ask("POST", "/v1/staff/sales/gig/pause", {"all": True})
    assert (paused.status, paused.json["status"], paused.json["allocation_paused"]) == (200, "paused", True)
    assert ann.order().problem == "paused"
    assert ann.ask("GET", "/v1/events/gig").json["status"] == "paused"

    resumed = staff.ask("POST", "/v1/staff/sales/gig/resume")
    assert (resumed.json["status"], resumed.json["allocation_paused"]) == ("active", False)
    assert ann.order().status == 202


def test_a_closed_sale_stays_closed(staff: Client, ann: Client) -> None:
    """Closing is for good; closing again is no error."""
    assert staff.ask("POST", "/v1/staff/sales/gig/close").json["status"] == "closed"
    assert ann.order().problem == "closed"
    assert staff.ask("POST", "/v1/staff/sales/gig/resume").problem == "closed"
    assert staff.ask("POST", "/v1/staff/sales/gig/pause", {}).status == 409
    assert staff.ask("POST", "/v1/staff/sales/gig/close").status == 200


def test_every_change_is_audited(staff: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """Who did what to which sale, when, from what to what."""
    staff.ask("POST", "/v1/staff/sales", DEFINITION)
    for action, body in (("pause", {"all": True}), ("resume", None), ("close", None)):
        clock.advance(1)
        staff.ask("POST", f"/v1/staff/sales/ball/{action}", body)

    entries = inner.list_audit(limit=10)

    assert entries[-1] == AuditEntry(10_000, "boss", "create_sale", "ball", "", "version 1: active")
    assert [(entry.action, entry.before, entry.after) for entry in entries[:-1]] == [
        ("close_sale", "version 3: active", "version 4: closed"),
        ("resume_sale", "version 2: paused, allocation paused", "version 3: active"),
        ("pause_sale", "version 1: active", "version 2: paused, allocation paused"),
    ]
    assert {entry.who for entry in entries} == {"boss"}


@pytest.mark.parametrize("script", [Script({("audit", 1): Fault.UNAVAILABLE})])
def test_a_change_whose_entry_was_lost_is_audited_by_the_repeat(
    script: Schedule, staff: Client, inner: SqliteStore
) -> None:
    """The change stands, the answer is 503, the repeat writes the entry."""
    assert staff.ask("POST", "/v1/staff/sales/gig/pause", {}).status == 503
    assert inner.get_sale("gig").sale.status is SaleStatus.PAUSED
    assert staff.ask("POST", "/v1/staff/sales/gig/pause", {}).status == 200
    assert [entry.action for entry in inner.list_audit(limit=10)] == ["pause_sale"]


@pytest.mark.parametrize("script", [Script({("save_sale", 1): Fault.LOST_AFTER})])
def test_a_lost_answer_is_no_conflict(script: Schedule, staff: Client, inner: SqliteStore) -> None:
    """The store recognises the same change, and so does the answer."""
    assert staff.ask("POST", "/v1/staff/sales/gig/pause", {}).json["version"] == 2
    assert inner.get_sale("gig").sale.version == 2


class _Busy(FaultyStore):
    """Another member of staff is faster, `races` times."""

    races = 1

    def save_sale(self, sale: Any, *, seen_version: int) -> bool:  # noqa: ANN401 - as the port
        if self.races:
            self.races -= 1
            stands = self._inner.get_sale(sale.event_id).sale
            other = SaleStatus.ACTIVE if stands.status is SaleStatus.PAUSED else SaleStatus.PAUSED
            self._inner.save_sale(stands.changed(other), seen_version=stands.version)
        return super().save_sale(sale, seen_version=seen_version)


@pytest.mark.parametrize(("races", "status"), [(1, 200), (2, 200), (3, 409)])
def test_two_at_once_do_not_overwrite_each_other(
    races: int, status: int, ann: Client, staff: Client, inner: SqliteStore
) -> None:
    """A change on an old version is made anew on the new one, and refused when that never ends."""
    busy = _Busy(inner, Script({}))
    busy.races = races
    force_setattr(ann.door._parts, "store", busy)

    reply = staff.ask("POST", "/v1/staff/sales/gig/close")

    assert reply.status == status
    assert inner.get_sale("gig").sale.version == 1 + races + (1 if status == 200 else 0)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/staff/sales"),
        ("GET", "/v1/staff/sales/gig"),
        ("POST", "/v1/staff/sales/gig/pause"),
        ("POST", "/v1/staff/sales/gig/resume"),
        ("POST", "/v1/staff/sales/gig/close"),
        ("POST", "/v1/staff/sales"),
    ],
)
def test_staff_routes_need_their_scope(method: str, path: str, ann: Client, reader: Client, inner: SqliteStore) -> None:
    """Buyers see nothing of it, readers change nothing of it."""
    body = DEFINITION if path.endswith("sales") else {}
    sent = None if method == "GET" else body

    assert ann.ask(method, path, sent).status == 403
    assert reader.ask(method, path, sent).status == (200 if method == "GET" else 403)
    assert inner.get_sale("gig").sale.version == 1
    assert inner.list_audit(limit=10) == ()


def test_all_sales_are_listed(staff: Client) -> None:
    """Staff see every sale; whoever may write may read."""
    staff.ask("POST", "/v1/staff/sales", DEFINITION)

    assert [sale["event_id"] for sale in staff.ask("GET", "/v1/staff/sales").json["sales"]] == ["ball", "gig"]


@pytest.mark.parametrize("event_id", ["nowhere", "a#b", "x" * 300, "🎸", "GIG"])
@pytest.mark.parametrize("action", ["", "/pause", "/resume", "/close"])
def test_a_sale_that_is_not_there(event_id: str, action: str, staff: Client) -> None:
    """Staff routes answer 404 for what does not exist and for what cannot."""
    method = "POST" if action else "GET"

    assert staff.ask(method, f"/v1/staff/sales/{event_id}{action}", {} if action else None).status == 404
