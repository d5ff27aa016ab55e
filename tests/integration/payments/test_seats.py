"""S3, S6, S9, S11: seats and money through real processes, on both stores."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.order import Status
from tests.integration.payments.shop import HOLD_S, PAYMENT, Shop, wait_for

pytestmark = pytest.mark.timeout(180)


def buy_anew(shop: Shop, event: str, quantity: int = 1) -> None:
    """Order until an order is confirmed; the door and the line may know a moment late that seats came back."""

    def buy() -> str:
        told = shop.press(event, quantity=quantity)
        return str(shop.until(event, told.body["order_id"])["status"]) if told.status == 202 else "refused"

    wait_for(buy, lambda became: became == "confirmed")


def test_s3_seats_come_back_once(shop: Shop) -> None:
    """S3: part back, whole, whole again, withheld, cancelled by the buyer: one return of the seats, one total."""
    event = shop.sell(seats=4, max_per_buyer=4)
    order_id = shop.order(event, quantity=4)
    shop.until(event, order_id, "confirmed")
    path = f"/{event}/orders/{order_id}/refunds"

    shop.staff("POST", path, {"total_minor": 1_000})
    for body in ({}, {}, {"seats": "withhold"}):
        shop.staff("POST", path, body)
    cancelled = shop.as_buyer(order_id, "DELETE", f"/v1/events/{event}/orders/{order_id}")
    shop.drained(event)
    pool = shop.store.get_pool(shop.store.get_sale(event).sale, "floor")

    assert cancelled.status == 409
    assert (pool.taken, pool.left, pool.withheld) == (0, 4, 0)
    buy_anew(shop, event, quantity=4)
    assert shop.books(event)[order_id]["refunded_minor"] == 10_000
    shop.assert_sound(event)


def test_s11_a_refunded_seat_is_sold_to_a_new_order(shop: Shop) -> None:
    """S11: sold out is decided; a refund opens a new round; the rejected stay so. A withheld seat opens none."""
    event = shop.sell(seats=2)
    first, second = shop.order(event), shop.order(event)
    for order_id in (first, second):
        shop.until(event, order_id, "confirmed")
    sale = shop.store.get_sale(event).sale
    wait_for(lambda: shop.store.get_pool(sale, "floor"), lambda pool: pool.sold_out)
    late = shop.press(event)

    shop.staff("POST", f"/{event}/orders/{first}/refunds", {"seats": "sell_again"})
    wait_for(lambda: shop.store.get_pool(sale, "floor"), lambda pool: not pool.sold_out)
    buy_anew(shop, event)
    shop.staff("POST", f"/{event}/orders/{second}/refunds", {"seats": "withhold"})
    pool = shop.store.get_pool(sale, "floor")

    assert late.status in {202, 409}
    assert (pool.taken, pool.withheld, pool.left) == (1, 1, 0)
    shop.drained(event)
    shop.assert_sound(event)


def test_s6_expiry_and_success_at_one_instant(shop: Shop) -> None:
    """S6: payments made just when their holds end: each is paid and kept, or refused and expired."""
    event = shop.sell(seats=40, hold_ttl_s=HOLD_S)
    secrets: dict[str, str] = {}
    for _ in range(24):
        order_id = shop.order(event, method=None)
        # At once: a hold that ends while others order is handed no payment any more.
        secrets[order_id] = shop.open_payment(event, order_id)
    orders = list(secrets)
    dice = random.Random(6)

    def pay_at_the_end(order_id: str) -> int:
        held_at_ms = shop.stored(event, order_id).held_at_ms or 0
        ends_s = held_at_ms / 1000 + HOLD_S + dice.uniform(-0.4, 0.4)
        time.sleep(max(0.0, ends_s - time.time()))
        return shop.pay(secrets[order_id]).status

    with ThreadPoolExecutor(24) as at_once:
        answers = dict(zip(orders, at_once.map(pay_at_the_end, orders), strict=True))
    shop.drained(event)
    books = shop.books(event)

    for order_id in orders:
        order, entry = shop.stored(event, order_id), books[order_id]
        paid = entry["captured_minor"] > 0
        assert paid == (answers[order_id] == 200)
        assert order.status is (Status.CONFIRMED if paid else Status.EXPIRED)
        assert entry["refunded_minor"] == 0
    shop.assert_sound(event)


def test_s9_an_expired_hold_is_free_as_soon_as_its_payment_is_closed(shop: Shop) -> None:
    """S9: nobody swept for long; while the payment service is silent the seat stays held, then it goes to the next."""
    event = shop.sell(seats=1, hold_ttl_s=HOLD_S)
    first = shop.order(event, method=None)
    shop.open_payment(event, first)
    shop.system.take_down(PAYMENT)
    try:
        second = shop.order(event)
        wait_for(lambda: shop.stored(event, first), lambda order: order.payment.silent_since_ms is not None)
        during = shop.read(event, first)["status"], shop.read(event, second)["status"]
    finally:
        shop.system.bring_back(PAYMENT)
    served = shop.until(event, second)
    shop.drained(event)

    assert during == ("held", "queued")
    assert (shop.read(event, first)["status"], served["status"]) == ("expired", "confirmed")
    assert shop.books(event)[first]["status"] == "canceled"
    shop.assert_sound(event)


def test_a_cancelled_sale_is_paid_back_to_the_last_cent(shop: Shop) -> None:
    """Confirmed, held and waiting orders of an event that falls through: nobody pays, everybody gets it back."""
    from infra.cli.api import Api  # noqa: PLC0415 - only here
    from infra.local.minting import mint  # noqa: PLC0415
    from infra.refunds.drive import count_orders, pay_all_back  # noqa: PLC0415

    event = shop.sell(seats=6, hold_ttl_s=HOLD_S)
    paid = [shop.order(event) for _ in range(4)]
    for order_id in paid:
        shop.until(event, order_id, "confirmed")
    held = [shop.order(event, method=None) for _ in range(2)]
    for order_id in held:
        shop.open_payment(event, order_id)
    shop.order(event, method=None)
    api = Api(shop.url, mint(shop.data, "boss", ("staff:read", "staff:write")))
    shop.staff("POST", f"/{event}/cancel")

    before = count_orders(api, event, 2)
    after = pay_all_back(api, event, 2, per_s=100, within_s=120, say=lambda _: None)
    repeated = pay_all_back(api, event, 2, per_s=100, within_s=120, say=lambda _: None)

    assert (before.confirmed, before.kept_minor) == (4, 10_000)
    assert after.done
    assert (after.ordered, after.refunded_minor, repeated.ordered) == (4, 10_000, 0)
    assert {entry["captured_minor"] - entry["refunded_minor"] for entry in shop.books(event).values()} == {0}
    assert [one for one in shop.reconcile().findings if one.event_id == event] == []
    shop.assert_sound(event)
