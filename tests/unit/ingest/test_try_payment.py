"""Another card on the same order."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shared.domain.order import Duty, Order, PaymentState, Status
from shared.domain.sale import SaleStatus
from shared.domain.transitions import ask_to_cancel, park
from shared.ports.orders import Saved
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client, Reply
from tests.unit.ingest.money import confirmed, declined, held, seen, stored


def attempt(buyer: Client, order: Order, method: object = "pm_card_mastercard", *, key: str | None = None) -> Reply:
    """Name another card."""
    path = f"/v1/events/gig/orders/{order.key.order_id}/payment-attempts"
    headers = {} if key is None else {"idempotency-key": key}
    return buyer.ask("POST", path, {"payment_method": method}, headers=headers)


def test_p9_another_card_is_written_for_a_worker(ann: Client, inner: SqliteStore) -> None:
    """202: the try stands on the order, due now; the answer says so."""
    order = declined(inner, ann)

    reply = attempt(ann, order)
    after = stored(inner, order.key.order_id)

    assert reply.status == 202
    assert reply.headers["Location"] == f"/v1/events/gig/orders/{order.key.order_id}"
    assert (after.payment.method, after.payment.attempt) == ("pm_card_mastercard", 2)
    assert (after.payment.state, after.duties[Duty.PAY]) == (PaymentState.OPEN, 10_000)
    assert after.duties[Duty.HOLD_END] == order.duties[Duty.HOLD_END]


def test_the_buyer_is_told_how_many_tries_are_left(ann: Client, inner: SqliteStore) -> None:
    """A declined order says why and how often another card may be tried; one that was not declined does not."""
    order = declined(inner, ann)
    told = ann.ask("GET", f"/v1/events/gig/orders/{order.key.order_id}").json
    open_order = held(inner, ann)

    assert (told["decline_code"], told["tries_left"]) == ("card_declined", 4)
    assert "tries_left" not in ann.ask("GET", f"/v1/events/gig/orders/{open_order.key.order_id}").json


def test_p9_there_are_five_tries_and_no_more(ann: Client, inner: SqliteStore) -> None:
    """The sixth is refused with the reason, however the buyer asks."""
    order = declined(inner, ann)
    for number in range(2, 6):
        assert attempt(ann, order, key=f"try-{number}").status == 202
        order = seen(inner, stored(inner, order.key.order_id), PaymentState.DECLINED, decline_code="card_declined")

    refused = attempt(ann, order, key="try-6")

    assert order.payment.attempt == 5
    assert (refused.status, refused.problem) == (409, "too-many-attempts")
    assert ann.ask("GET", f"/v1/events/gig/orders/{order.key.order_id}").json["tries_left"] == 0


def test_a_key_names_its_try_for_ever(ann: Client, inner: SqliteStore) -> None:
    """The same key again writes nothing, whatever became of the try, also after a later one."""
    order = declined(inner, ann)
    attempt(ann, order, key="a")
    order = seen(inner, stored(inner, order.key.order_id), PaymentState.DECLINED, decline_code="card_declined")
    attempt(ann, order, "pm_card_amex", key="b")
    order = seen(inner, stored(inner, order.key.order_id), PaymentState.DECLINED, decline_code="card_declined")

    late = attempt(ann, order, key="a")

    assert late.status == 202
    assert stored(inner, order.key.order_id) == order
    assert order.payment.attempt == 3


def test_a_key_is_not_used_for_another_card(ann: Client, inner: SqliteStore) -> None:
    """The same key with another card is refused."""
    order = declined(inner, ann)
    attempt(ann, order, key="a")

    reused = attempt(ann, order, "pm_card_amex", key="a")

    assert (reused.status, reused.problem) == (422, "idempotency-key-reused")


def test_without_a_key_the_open_try_is_found_by_its_card(ann: Client, inner: SqliteStore) -> None:
    """The same card while the try is open is the same try; another card has to wait."""
    order = declined(inner, ann)
    attempt(ann, order)
    written = stored(inner, order.key.order_id)

    again, other = attempt(ann, order), attempt(ann, order, "pm_card_amex")

    assert again.status == 202
    assert (other.status, other.problem) == (409, "payment-in-progress")
    assert stored(inner, order.key.order_id) == written


@pytest.mark.parametrize("state", [PaymentState.NONE, PaymentState.OPEN, PaymentState.PROCESSING])
def test_a_try_under_way_is_waited_for(ann: Client, inner: SqliteStore, state: PaymentState) -> None:
    """While the first card may still succeed no other is tried."""
    order = seen(inner, held(inner, ann), state)

    reply = attempt(ann, order)

    assert (reply.status, reply.problem) == (409, "payment-in-progress")


def test_nothing_is_tried_on_an_order_that_holds_no_seats(ann: Client, inner: SqliteStore) -> None:
    """In line, paid, or ended: 409 says which."""
    queued = stored(inner, ann.order().json["order_id"])
    paid = confirmed(inner, ann)

    assert attempt(ann, queued).problem == "order-queued"
    assert attempt(ann, paid).problem == "order-confirmed"


def test_a_hold_that_is_over_is_not_charged(ann: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """At the very end of the hold, though no worker has given the seats back and their look was put off: 409."""
    order = declined(inner, ann)
    put_off = replace(order, rev=order.rev + 1, op="later", duties={Duty.HOLD_END: 500_000})
    assert inner.save(put_off, seen_rev=order.rev).done
    clock.advance(60)

    reply = attempt(ann, order)

    assert (reply.status, reply.problem) == (409, "hold-ended")


def test_an_order_being_cancelled_or_of_a_cancelled_event_is_not_charged(ann: Client, inner: SqliteStore) -> None:
    """The buyer's own wish, or staff's: no further try."""
    leaving = declined(inner, ann)
    assert inner.save(ask_to_cancel(leaving, op="c", now_ms=10_000), seen_rev=leaving.rev).done
    assert attempt(ann, leaving).problem == "order-cancelling"

    order = declined(inner, ann)
    sale = inner.get_sale("gig").sale
    assert inner.save_sale(sale.changed(SaleStatus.CANCELLED), seen_version=sale.version)
    reply = attempt(ann, order)
    assert reply.status in {202, 409}  # the sale is known a moment late


def test_k10_other_peoples_orders_are_not_there(ann: Client, bob: Client, staff: Client, inner: SqliteStore) -> None:
    """Another buyer gets 404, as for an order that does not exist; staff have no card to name."""
    order = declined(inner, ann)

    assert attempt(bob, order).status == 404
    assert attempt(staff, order).status == 403
    assert stored(inner, order.key.order_id) == order


@pytest.mark.parametrize("method", ["", "pm card", "pm_" + "x" * 200, 5, None, "pm\x00"])
def test_a_card_without_a_name_is_refused(ann: Client, inner: SqliteStore, method: object) -> None:
    """422 naming the field."""
    reply = attempt(ann, declined(inner, ann), method)

    assert (reply.status, reply.json["field"]) == (422, "payment_method")


def test_a_worker_that_is_faster_is_read_again(ann: Client, inner: SqliteStore, store: FaultyStore) -> None:
    """A write that came in between costs another round, not the try."""
    order = declined(inner, ann)
    save = inner.save

    def overtaken(wanted: Order, *, seen_rev: int) -> Saved:
        inner.save = save  # type: ignore[method-assign] # once
        parked = park(order, op="other", now_ms=10_000, error="trouble")
        assert save(parked, seen_rev=order.rev).done
        return save(wanted, seen_rev=seen_rev)

    inner.save = overtaken  # type: ignore[method-assign,assignment] # another writer, between read and write

    assert attempt(ann, order).status == 202
    after = stored(inner, order.key.order_id)
    assert (after.payment.attempt, after.status) == (2, Status.HELD)
