"""Q14: repeats, reads and cancels across a grown shard map, by doors that know it and doors that do not."""

from __future__ import annotations

import pytest

from ingest.process import build_app
from shared.domain import transitions
from shared.domain.order import Order, Reason, Status
from shared.domain.order_id import home_of, locate_order, older_homes, parse_order_id
from shared.ports.control import AuditEntry
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts

BEFORE, AFTER = (4,), (4, 16)
ORDERS = "/v1/events/gig/orders"


@pytest.fixture
def deaf(parts_over: MakeParts, inner: SqliteStore, staff: Client, clock: FakeClock) -> Client:
    """Return ann at another process, which read the sale just before its map grew."""
    door = build_app(parts_over(inner, seed=7))
    client = Client(door, "ann", "buy")
    client.ask("GET", "/v1/events/gig")
    assert staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16}).status == 200
    clock.advance(0.5)
    return client


def moving_key(client: Client) -> str:
    """Find a key that the growth moves: place orders under the old map until one is to move."""
    for number in range(100):
        key = f"key-{number}"
        _, digest = parse_order_id(client.order(key=key).json["order_id"])
        if older_homes("gig", digest, AFTER):
            return key
    raise AssertionError("three in four keys move")


def order_at(store: SqliteStore, order_id: str) -> Order:
    """Read what is stored under an id."""
    found = store.get_order(locate_order("gig", order_id, AFTER))
    assert found is not None
    return found


def reject(store: SqliteStore, order_id: str) -> None:
    """Let a worker reject the order."""
    order = order_at(store, order_id)
    rejected = transitions.reject(order, op="reject", now_ms=20_000, reason=Reason.SOLD_OUT)
    assert store.save(rejected, seen_rev=order.rev).done


def test_a_grown_map_is_shown_and_audited(staff: Client, inner: SqliteStore) -> None:
    """The route answers with the sale; the same number again changes nothing and is audited as well."""
    for _ in range(2):
        shown = staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16})
        assert (shown.status, shown.json["shards"], shown.json["map_version"]) == (200, 16, 2)

    assert inner.get_sale("gig").sale.shard_counts == AFTER
    assert AuditEntry(10_000, "boss", "reshard_sale", "gig", "map 1: 4 shards", "map 2: 16 shards") in (
        inner.list_audit(limit=5)
    )


@pytest.mark.parametrize(("shards", "status"), [(2, 409), (0, 422), (1025, 422), ("16", 422), (None, 422)])
def test_what_is_no_growth_is_refused(staff: Client, inner: SqliteStore, shards: object, status: int) -> None:
    """Fewer shards, or a number that is none, change nothing."""
    assert staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": shards}).status == status
    assert inner.get_sale("gig").sale.shard_counts == BEFORE


def test_growth_needs_a_member_of_staff(reader: Client, ann: Client) -> None:
    """Neither buyers nor those who only look may do it."""
    for client in (reader, ann):
        assert client.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16}).status == 403


def test_a_repeat_across_the_growth_meets_its_first_attempt(ann: Client, staff: Client) -> None:
    """The key moved, and the answer is the order that was taken before."""
    key = moving_key(ann)
    first = ann.order(key=key).json["order_id"]
    staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16})

    repeat = ann.order(key=key)

    assert (repeat.status, repeat.json["order_id"]) == (202, first)
    assert ann.order(2, key=key).problem == "idempotency-key-reused"


def test_a_repeat_is_met_though_the_sale_has_closed(ann: Client, staff: Client) -> None:
    """K12: the rules of a later moment do not matter to an order that was taken, wherever it lies."""
    key = moving_key(ann)
    first = ann.order(key=key).json["order_id"]
    staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16})
    staff.ask("POST", "/v1/staff/sales/gig/close")

    assert ann.order(key=key).json["order_id"] == first
    assert ann.order(key="another").problem == "closed"


def test_new_orders_fill_the_new_shards(ann: Client, staff: Client, inner: SqliteStore) -> None:
    """With a key or without, orders lie where the grown map puts them."""
    staff.ask("POST", "/v1/staff/sales/gig/reshard", {"shards": 16})
    ids = [ann.order(key=f"key-{number}" if number % 2 else None).json["order_id"] for number in range(60)]

    orders = [order_at(inner, order_id) for order_id in ids]
    assert {order.key.shard for order in orders} > set(range(4))
    for order, keyed in zip(orders, [number % 2 == 1 for number in range(60)], strict=True):
        digest = parse_order_id(order.key.order_id)[1]
        assert order.key == home_of("gig", digest, AFTER)
        assert order.older_homes == (older_homes("gig", digest, AFTER) if keyed else ())


def test_an_order_that_left_the_line_is_found_by_a_deaf_door(deaf: Client, ann: Client, inner: SqliteStore) -> None:
    """The tombstone at the old home leads on, and so does the id of a map that the door has not heard of."""
    key, order_id = place_moved(ann)
    reject(inner, order_id)

    repeat = deaf.order(key=key)

    assert (repeat.status, repeat.json["order_id"], repeat.json["status"]) == (202, order_id, "rejected")
    assert deaf.order(2, key=key).problem == "idempotency-key-reused"


def place_moved(ann: Client) -> tuple[str, str]:
    """Place an order that the grown map moves; return its key and id."""
    for number in range(100):
        order_id = str(ann.order(key=f"moved-{number}").json["order_id"])
        if order_id.startswith("2-"):
            return f"moved-{number}", order_id
    raise AssertionError("three in four keys move")


def test_a_copy_that_a_deaf_door_wrote_is_the_one_that_counts(deaf: Client, ann: Client, inner: SqliteStore) -> None:
    """Both were told 202; the newer copy yields as it leaves, and leads to the older one from then on."""
    key, newer = place_moved(ann)
    older = deaf.order(key=key).json["order_id"]
    assert older != newer

    cancelled = ann.ask("DELETE", f"{ORDERS}/{newer}")

    assert (cancelled.status, cancelled.json["order_id"], cancelled.json["status"]) == (200, older, "cancelled")
    assert order_at(inner, newer).status is Status.SUPERSEDED
    for client in (ann, deaf):
        for order_id in (newer, older):
            assert client.ask("GET", f"{ORDERS}/{order_id}").json["order_id"] == older
        assert client.order(key=key).json["order_id"] == older


def test_a_deaf_door_reads_and_cancels_by_a_newer_id(deaf: Client, ann: Client, clock: FakeClock) -> None:
    """It reads the sale anew before it says that there is no such order."""
    _, order_id = place_moved(ann)
    clock.advance(0.5)

    assert deaf.ask("GET", f"{ORDERS}/{order_id}").json["order_id"] == order_id
    assert deaf.ask("DELETE", f"{ORDERS}/{order_id}").json["status"] == "cancelled"


@pytest.mark.parametrize("version", ["3", "4", "999"])
def test_an_id_of_a_map_that_nobody_has_is_not_found(ann: Client, clock: FakeClock, version: str) -> None:
    """A map has at most three versions, and a sale that was just read knows them all."""
    clock.advance(0.5)

    assert ann.ask("GET", f"{ORDERS}/{version}-{'a' * 32}").status == 404


def test_strangers_ids_do_not_make_the_door_read_without_end(ann: Client, store: FaultyStore, clock: FakeClock) -> None:
    """A newer id has the sale read at most ten times a second; those between are asked to come again."""
    ann.ask("GET", "/v1/events/gig")
    for _ in range(20):
        clock.advance(0.01)
        assert ann.ask("GET", f"{ORDERS}/2-{'a' * 32}").status in {404, 503}

    assert store.calls["get_sale"] <= 3


@pytest.mark.parametrize("script", [Script({("get_sale", 2): Fault.UNAVAILABLE})])
def test_a_newer_id_waits_for_the_store(script: Schedule, ann: Client, clock: FakeClock) -> None:
    """While the sale cannot be read nobody knows whether there is such an order."""
    ann.ask("GET", "/v1/events/gig")
    clock.advance(0.5)

    assert ann.ask("GET", f"{ORDERS}/2-{'a' * 32}").status == 503
