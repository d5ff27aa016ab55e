"""Staff pay back."""

from __future__ import annotations

import pytest

from shared.domain.order import Duty, Order, Reason, Status
from shared.stores.faults import Fault, FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.unit.ingest.client import Client, Reply
from tests.unit.ingest.money import confirmed, declined, held, stored


def refund(staff: Client, order: Order, body: object) -> Reply:
    """Ask for a refund."""
    return staff.ask("POST", f"/v1/staff/sales/gig/orders/{order.key.order_id}/refunds", body)


def test_a_whole_refund_ends_the_order_and_sells_its_seats_again(
    staff: Client, ann: Client, inner: SqliteStore
) -> None:
    """202: refunded, all of it owed now, the seats for sale; the buyer is told and shown no ticket."""
    order = confirmed(inner, ann, 2)

    reply = refund(staff, order, {})
    after = stored(inner, order.key.order_id)
    pool = inner.get_pool(make_sale(), "floor")
    told = ann.ask("GET", f"/v1/events/gig/orders/{order.key.order_id}").json

    assert (reply.status, reply.json["status"], reply.json["refund_due"]["minor"]) == (202, "refunded", 5_000)
    assert (after.status, after.reason) == (Status.REFUNDED, Reason.REFUNDED_BY_STAFF)
    assert after.duties == {Duty.REFUND: 10_000}
    assert (pool.taken, pool.unsold, pool.withheld) == (0, 10, 0)
    assert "tickets" not in told
    assert told["refund_due"]["minor"] == 5_000


def test_seats_can_be_withheld_instead(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """With `withhold` they are counted apart and not sold again."""
    order = confirmed(inner, ann, 2)

    refund(staff, order, {"seats": "withhold"})
    pool = inner.get_pool(make_sale(), "floor")

    assert (pool.taken, pool.unsold, pool.withheld, pool.balanced) == (0, 8, 2, True)


def test_s3_seats_come_back_once(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """In part, then whole, whole again, withheld, and the buyer's own cancel: one return, one total."""
    order = confirmed(inner, ann, 2)

    first = [refund(staff, order, body).status for body in ({"total_minor": 100}, {}, {}, {"seats": "withhold"})]
    cancelled = ann.ask("DELETE", f"/v1/events/gig/orders/{order.key.order_id}")
    pool = inner.get_pool(make_sale(), "floor")
    after = stored(inner, order.key.order_id)

    assert first == [202] * 4
    assert (cancelled.status, cancelled.problem) == (409, "order-refunded")
    assert (pool.taken, pool.unsold, pool.withheld) == (0, 10, 0)
    assert after.payment.refund_due_minor == 5_000


def test_p10_a_refund_is_never_above_what_was_captured(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """99 of 100, then 100: one more at most; 101 is refused and says how much there is."""
    order = confirmed(inner, ann)

    assert refund(staff, order, {"total_minor": 2_499}).status == 202
    assert refund(staff, order, {"total_minor": 2_500}).json["refund_due"]["minor"] == 2_500
    above = refund(staff, order, {"total_minor": 2_501})

    assert (above.status, above.problem, above.json["captured_minor"]) == (409, "refund-above-payment", 2_500)
    assert stored(inner, order.key.order_id).status is Status.CONFIRMED


def test_a_total_only_grows_and_can_be_repeated(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """The same total writes nothing; a lower one is refused."""
    order = confirmed(inner, ann)
    refund(staff, order, {"total_minor": 1_000})
    written = stored(inner, order.key.order_id)

    again, lower = refund(staff, order, {"total_minor": 1_000}), refund(staff, order, {"total_minor": 999})

    assert again.status == 202
    assert (lower.status, lower.problem) == (409, "refund-below-earlier")
    assert stored(inner, order.key.order_id) == written


def test_only_confirmed_orders_are_paid_back(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """In line or held: 409 says which."""
    queued = stored(inner, ann.order().json["order_id"])

    assert refund(staff, queued, {}).problem == "order-queued"
    assert refund(staff, held(inner, ann), {"total_minor": 1}).problem == "order-held"
    assert refund(staff, declined(inner, ann), {}).problem == "order-held"


@pytest.mark.parametrize(
    "body",
    [
        {"total_minor": 0},
        {"total_minor": -1},
        {"total_minor": 1.5},
        {"total_minor": "1"},
        {"total_minor": 10**30},
        {"total_minor": True},
        {"seats": "burn"},
        {"total_minor": 5, "seats": "withhold"},
        {"amount": 5},
    ],
)
def test_nonsense_is_refused(staff: Client, ann: Client, inner: SqliteStore, body: object) -> None:
    """422, and the order is as it was."""
    order = confirmed(inner, ann)

    assert refund(staff, order, body).status == 422
    assert stored(inner, order.key.order_id) == order


def test_i9_buyers_and_readers_pay_nobody_back(ann: Client, reader: Client, inner: SqliteStore) -> None:
    """Staff who may write, and nobody else."""
    order = confirmed(inner, ann)

    assert refund(ann, order, {}).status == 403
    assert refund(reader, order, {}).status == 403
    assert stored(inner, order.key.order_id) == order


def test_every_refund_is_audited(staff: Client, ann: Client, inner: SqliteStore) -> None:
    """Who did what to which order, before and after; also when the first answer was lost after the write."""
    order = confirmed(inner, ann)
    refund(staff, order, {"total_minor": 100})
    refund(staff, order, {})

    whole, part = inner.list_audit(limit=2)

    assert (part.who, part.action, part.subject) == ("boss", "refund_order", f"gig/{order.key.order_id}")
    assert "confirmed, 0 of 2500" in part.before
    assert "confirmed, 100 of 2500" in part.after
    assert "refunded, 2500 of 2500" in whole.after


def test_an_order_that_is_not_there_is_404(staff: Client) -> None:
    """An unknown order, an unknown event, an id that is none."""
    for path in ("gig/orders/1-" + "0" * 32, "lost/orders/1-" + "0" * 32, "gig/orders/x"):
        assert staff.ask("POST", f"/v1/staff/sales/{path}/refunds", {}).status == 404


def page(staff: Client, shard: int, **more: object) -> Reply:
    """Pay back one page."""
    return staff.ask("POST", "/v1/staff/sales/gig/refund-page", {"shard": shard, **more})


def walk(staff: Client, **more: object) -> dict[str, int]:
    """Walk all shards and add the pages up."""
    total: dict[str, int] = {}
    for shard in range(4):
        cursor: dict[str, object] = {}
        while True:
            reply = page(staff, shard, **more, **cursor)
            assert reply.status == 200
            told = reply.json
            for name, value in told.items():
                if isinstance(value, int):
                    total[name] = total.get(name, 0) + value
            if "cursor" not in told:
                break
            cursor = {"cursor": told["cursor"]}
    return total


def test_a_cancelled_sale_is_paid_back_page_by_page(
    staff: Client, ann: Client, bob: Client, inner: SqliteStore
) -> None:
    """Counted first, ordered once, gone on with at will; seats are withheld."""
    orders = [confirmed(inner, buyer) for buyer in (ann, bob, ann, bob)]
    waiting = ann.order()
    counted = walk(staff, dry_run=True)
    early = page(staff, 0)
    cancelled = staff.ask("POST", "/v1/staff/sales/gig/cancel")

    first, second = walk(staff, limit=1), walk(staff)
    pool = inner.get_pool(make_sale(), "floor")

    assert (counted["confirmed"], counted["kept_minor"], counted["waiting"]) == (4, 10_000, 1)
    assert (early.status, early.problem) == (409, "sale-not-cancelled")
    assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")
    assert (first["ordered"], first["confirmed"], first["kept_minor"], first["owed_minor"]) == (4, 0, 0, 10_000)
    assert (second["ordered"], second["owed_minor"]) == (0, 10_000)
    assert {stored(inner, order.key.order_id).reason for order in orders} == {Reason.SALE_CANCELLED}
    assert (pool.withheld, pool.taken, pool.balanced) == (4, 0, True)
    assert stored(inner, waiting.json["order_id"]).status is Status.QUEUED


def test_held_seats_of_a_cancelled_sale_do_not_wait_for_their_end(
    staff: Client, ann: Client, bob: Client, inner: SqliteStore
) -> None:
    """After a declined card nothing is due before the hold ends: a worker is sent at once, and once only."""
    left_alone, under_way = declined(inner, ann), held(inner, bob)
    walk(staff, dry_run=True)
    assert stored(inner, left_alone.key.order_id) == left_alone
    staff.ask("POST", "/v1/staff/sales/gig/cancel")

    told = walk(staff)
    sent = stored(inner, left_alone.key.order_id)
    walk(staff)

    assert (told["ordered"], told["waiting"]) == (0, 2)
    assert sent.duties == {**left_alone.duties, Duty.CHECK: 10_000}
    assert stored(inner, left_alone.key.order_id) == sent
    assert stored(inner, under_way.key.order_id) == under_way


def test_a_closed_sale_can_still_be_cancelled(staff: Client) -> None:
    """An event falls through after its sale has closed; it does not open again."""
    staff.ask("POST", "/v1/staff/sales/gig/close")

    assert staff.ask("POST", "/v1/staff/sales/gig/cancel").json["status"] == "cancelled"
    assert staff.ask("POST", "/v1/staff/sales/gig/resume").status == 409
    assert staff.ask("POST", "/v1/staff/sales/gig/close").status == 409


def test_a_page_that_was_interrupted_is_repeated(
    staff: Client, ann: Client, inner: SqliteStore, store: FaultyStore
) -> None:
    """503 in the middle of a page; the same page again does the rest."""
    for _ in range(4):
        confirmed(inner, ann)
    staff.ask("POST", "/v1/staff/sales/gig/cancel")
    store._schedule = Script({("release", 2): Fault.UNAVAILABLE})

    statuses = [page(staff, shard).status for shard in range(4)]
    store._schedule = Script({})
    total = walk(staff)

    assert sorted(statuses) in ([200, 200, 200, 503], [200, 200, 200, 200])
    assert (total["confirmed"], total["owed_minor"]) == (0, 10_000)


@pytest.mark.parametrize("body", [{"shard": -1}, {"shard": 0, "cursor": "'; --"}, {"shard": 0, "limit": 0}, {}])
def test_a_page_that_is_none_is_refused(staff: Client, body: dict[str, object]) -> None:
    """422 naming the field; a shard that the sale does not have is 404."""
    assert staff.ask("POST", "/v1/staff/sales/gig/refund-page", body).status == 422
    assert page(staff, 999, dry_run=True).status == 404
