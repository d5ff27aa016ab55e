"""P1 to P11 through real processes, on both stores."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from shared.domain.order import Duty, PaymentState, Reason, Status
from shared.domain.order_id import order_key
from tests.integration.payments.shop import HOLD_S, PAYMENT, Shop, wait_for

pytestmark = pytest.mark.timeout(180)


def test_p1_a_worker_killed_after_the_charge_does_not_charge_again(shop: Shop) -> None:
    """P1: SIGKILL between the charge and the order's confirmation; the next run finds the charge."""
    event = shop.sell()
    shop.faults(answer_delay_s=5)
    order_id = shop.order(event)
    wait_for(lambda: shop.books(event), lambda books: books.get(order_id, {}).get("captures") == 1)

    for worker in shop.system.workers:
        worker.kill()
    before = shop.read(event, order_id)["status"]
    shop.faults()
    after = shop.until(event, order_id)

    assert (before, after["status"]) == ("held", "confirmed")
    assert shop.books(event)[order_id]["captures"] == 1
    shop.assert_sound(event)


def test_p2_the_same_news_twenty_times_at_once_has_one_effect(shop: Shop) -> None:
    """P2: a success delivered twenty times side by side, before and after the order shows it."""
    event = shop.sell()
    order_id = shop.order(event, method=None)
    secret = shop.open_payment(event, order_id)
    key, intent_id = shop.key(event, order_id), secret.partition("_secret_")[0]
    assert shop.pay(secret).status == 200

    def deliver(_number: int) -> int:
        return shop.webhook("payment_intent.succeeded", intent_id, key).status

    with ThreadPoolExecutor(20) as at_once:
        statuses = [*at_once.map(deliver, range(20))]
    order = shop.until(event, order_id, "confirmed")
    with ThreadPoolExecutor(20) as at_once:
        statuses += at_once.map(deliver, range(20))
    shop.drained(event)

    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 30
    assert shop.read(event, order_id)["tickets"] == order["tickets"]
    assert shop.books(event)[order_id]["captures"] == 1
    shop.assert_sound(event)


def test_p3_an_old_failure_does_not_undo_a_later_success(shop: Shop) -> None:
    """P3: attempt 1 fails, attempt 2 succeeds, then the failure is told again: it stays paid."""
    event = shop.sell()
    order_id = shop.order(event, method="pm_card_visa_chargeDeclined")
    wait_for(lambda: shop.read(event, order_id), lambda order: "decline_code" in order)
    path = f"/v1/events/{event}/orders/{order_id}/payment-attempts"
    assert shop.as_buyer(order_id, "POST", path, {"payment_method": "pm_card_visa"}).status == 202
    shop.until(event, order_id, "confirmed")
    intent_id = shop.stored(event, order_id).payment.intent_id
    assert intent_id is not None

    told = shop.webhook(
        "payment_intent.payment_failed", intent_id, shop.key(event, order_id), created_s=time.time() - 3600
    )
    shop.drained(event)

    assert told.body == {"noted": "stored"}
    assert shop.read(event, order_id)["status"] == "confirmed"
    assert shop.books(event)[order_id]["declines"] == 1
    shop.assert_sound(event)


def test_p4_news_that_could_not_be_stored_comes_again(shop: Shop) -> None:
    """P4: the store takes no write for some seconds: 5xx; the payment service repeats it, and then it is done."""
    event = shop.sell()
    order_id = shop.order(event, method=None)
    secret = shop.open_payment(event, order_id)
    key = shop.key(event, order_id)

    with shop.store_down(3):
        assert shop.pay(secret).status == 200
        refused = shop.webhook("payment_intent.succeeded", secret.partition("_secret_")[0], key)

    assert refused.status == 503
    shop.until(event, order_id, "confirmed")
    again = shop.webhook("charge.succeeded", secret.partition("_secret_")[0], key)
    assert again.status == 200
    shop.assert_sound(event)


def test_p5_money_without_an_order_goes_back(shop: Shop) -> None:
    """P5: news of an order that is not stored: 5xx while it is young, then a stand-in whose duty is the refund."""
    event = shop.sell()
    key = order_key(event, time.time_ns().to_bytes(16, "big"), (2,), 1)
    intent = shop.stripe.v1.payment_intents.create(
        {
            "amount": 700,
            "currency": "eur",
            "payment_method": "pm_card_visa",
            "confirm": True,
            "metadata": shop.metadata(key),
        }
    )

    young = shop.webhook("payment_intent.succeeded", intent.id, key)
    old = shop.webhook("payment_intent.succeeded", intent.id, key, created_s=time.time() - 600)
    books = wait_for(lambda: shop.books(event), lambda books: books[key.order_id]["refunded_minor"] == 700)
    shop.drained(event)
    again = shop.webhook("payment_intent.succeeded", intent.id, key)
    shop.drained(event)
    orphan = shop.store.get_order(key)

    assert (young.status, old.body, again.body) == (503, {"noted": "orphaned"}, {"noted": "stored"})
    assert books[key.order_id]["refunds"] == 1
    assert orphan is not None
    assert (orphan.reason, orphan.payment.refunded_minor, orphan.work) == (Reason.ORPHANED, 700, None)
    shop.assert_sound(event)


def test_p6_and_s5_an_old_page_cannot_pay(shop: Shop) -> None:
    """P6, S5: paying long after the hold ended is refused by the closed payment; nothing was taken."""
    event = shop.sell(hold_ttl_s=HOLD_S)
    order_id = shop.order(event, method=None)
    secret = shop.open_payment(event, order_id)
    shop.until(event, order_id, "expired")

    late = shop.pay(secret)
    key = shop.key(event, order_id)
    shop.webhook("payment_intent.succeeded", secret.partition("_secret_")[0], key)
    shop.drained(event)

    assert late.status == 400
    assert late.body["error"]["code"] == "payment_intent_unexpected_state"
    assert shop.read(event, order_id)["status"] == "expired"
    assert shop.books(event)[order_id]["captured_minor"] == 0
    shop.assert_sound(event)


def test_p7_the_payment_is_found_though_no_webhook_comes(shop: Shop) -> None:
    """P7: all webhooks are lost; the walk finds the payment, and the hold is not given up."""
    shop.faults(webhook_lost=1)
    event = shop.sell(hold_ttl_s=30)
    order_id = shop.order(event, method=None)
    secret = shop.open_payment(event, order_id)
    assert shop.pay(secret).status == 200

    shop.reconcile()
    shop.until(event, order_id, "confirmed")

    assert [one for one in shop.reconcile().findings if one.event_id == event] == []
    shop.assert_sound(event)


def test_p8_odd_news_is_taken_or_refused_loudly(shop: Shop) -> None:
    """P8: unknown kinds and members are 2xx, what lacks its time is 4xx, and the order is as it was."""
    event = shop.sell()
    order_id = shop.order(event)
    shop.until(event, order_id, "confirmed")
    key = shop.key(event, order_id)
    intent_id = shop.stored(event, order_id).payment.intent_id or ""

    unknown = shop.webhook("some.day.new", intent_id, key, future={"a": [1]})
    other_mode = shop.webhook("payment_intent.succeeded", intent_id, key, livemode=True)
    timeless = shop.webhook("payment_intent.succeeded", intent_id, key, created=None)
    shop.drained(event)

    assert (unknown.status, other_mode.status, timeless.status) == (200, 400, 400)
    assert shop.read(event, order_id)["status"] == "confirmed"
    shop.assert_sound(event)


def test_p9_another_card_on_the_same_order(shop: Shop) -> None:
    """P9: one payment, a try for each card, five at most."""
    event = shop.sell()
    order_id = shop.order(event, method="pm_card_visa_chargeDeclined")
    path = f"/v1/events/{event}/orders/{order_id}/payment-attempts"
    for left in (4, 3, 2, 1):
        wait_for(lambda: shop.read(event, order_id), lambda order, left=left: order.get("tries_left") == left)  # type: ignore[misc] # bound now
        card = "pm_card_visa_chargeDeclinedInsufficientFunds" if left > 1 else "pm_card_mastercard"
        assert shop.as_buyer(order_id, "POST", path, {"payment_method": card}, key=f"left-{left}").status == 202
    shop.until(event, order_id, "confirmed")
    refused = shop.as_buyer(order_id, "POST", path, {"payment_method": "pm_card_visa"})
    entry = shop.books(event)[order_id]

    assert (entry["captures"], entry["declines"]) == (1, 4)
    assert refused.status == 409
    shop.assert_sound(event)


def test_p10_a_refund_never_exceeds_the_payment(shop: Shop) -> None:
    """P10: 99 of 100, then 100, then 101: a hundred in all, in two refunds."""
    event = shop.sell(price="1.00")
    order_id = shop.order(event)
    shop.until(event, order_id, "confirmed")
    path = f"/{event}/orders/{order_id}/refunds"

    shop.staff("POST", path, {"total_minor": 99})
    wait_for(lambda: shop.books(event), lambda books: books[order_id]["refunded_minor"] == 99)
    shop.staff("POST", path, {"total_minor": 100})
    with pytest.raises(Exception, match="More was asked back than was paid"):
        shop.staff("POST", path, {"total_minor": 101})
    wait_for(lambda: shop.books(event), lambda books: books[order_id]["refunded_minor"] == 100)
    shop.drained(event)

    assert shop.books(event)[order_id]["refunds"] == 2
    assert shop.read(event, order_id)["refunded"]["minor"] == 100
    shop.assert_sound(event)


def test_p11_a_payment_service_in_trouble_loses_no_seat_and_charges_nobody_twice(shop: Shop) -> None:
    """P11: slow, answering 500 before and after, dropping connections after charging: everybody has one ticket."""
    event = shop.sell(seats=30, hold_ttl_s=600)
    shop.faults(
        latency_random_s=0.3, error_before=0.2, error_after=0.15, drop_before=0.1, drop_after=0.2, answer_twice=0.1
    )
    orders = [shop.order(event) for _ in range(30)]

    def served() -> int:
        return sum(shop.stored(event, order_id).status is Status.CONFIRMED for order_id in orders)

    # Waits grow while half of all calls fail; the last orders are served when the trouble is over.
    wait_for(served, lambda count: count >= len(orders) // 2)
    shop.faults()
    wait_for(served, lambda count: count == len(orders))
    shop.drained(event)
    books = shop.books(event)

    assert sorted(books) == sorted(orders)
    assert {entry["captures"] for entry in books.values()} == {1}
    assert {entry["captured_minor"] for entry in books.values()} == {2_500}
    shop.assert_sound(event)


def _is_told_of_the_trouble(order: dict[str, Any]) -> bool:
    return "does not answer" in order["sentence"]


def test_p11_while_the_payment_service_is_dead_the_status_says_so(shop: Shop) -> None:
    """P11: killed outright: seats are held, no attempt is used up, the buyer is told; afterwards all are served."""
    event = shop.sell(seats=10)
    shop.system.take_down(PAYMENT)
    try:
        orders = [shop.order(event) for _ in range(5)]
        told = [wait_for(partial(shop.read, event, order_id), _is_told_of_the_trouble) for order_id in orders]
        waiting = [shop.stored(event, order_id) for order_id in orders]
        free = shop.sell(price="0.00")
        gift = shop.until(free, shop.order(free), "confirmed")
    finally:
        shop.system.bring_back(PAYMENT)
    for order_id in orders:
        shop.until(event, order_id, "confirmed")

    assert {order["status"] for order in told} == {"held"}
    assert {(order.status, order.failures, order.payment.attempt) for order in waiting} == {(Status.HELD, 0, 1)}
    assert gift["amount"]["minor"] == 0
    assert "does not answer" not in shop.read(event, orders[0])["sentence"]
    assert {entry["captures"] for entry in shop.books(event).values()} == {1}
    shop.assert_sound(event)


def test_r8_a_free_order_never_calls_the_payment_service(shop: Shop) -> None:
    """R8: no payment of a free order is in the books, nor was one asked for."""
    event = shop.sell(price="0.00")
    orders = [shop.order(event) for _ in range(3)]
    for order_id in orders:
        shop.until(event, order_id, "confirmed")

    assert shop.books(event) == {}
    assert {shop.stored(event, order_id).payment.state for order_id in orders} == {PaymentState.NONE}
    shop.staff("POST", f"/{event}/orders/{orders[0]}/refunds", {})
    after = shop.stored(event, orders[0])
    assert (after.status, after.duties) == (Status.REFUNDED, {})
    assert Duty.REFUND not in after.duties
    shop.assert_sound(event)
