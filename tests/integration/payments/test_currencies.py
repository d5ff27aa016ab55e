"""Amounts in currencies that the payment service counts otherwise than ISO 4217, end to end on both stores."""

from __future__ import annotations

import pytest

from shared.domain.errors import Invalid
from tests.integration.payments.shop import Shop, wait_for

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("currency", "price", "minor", "units", "part_minor", "part_units"),
    [
        ("JPY", "80", 80, 80, 30, 30),
        ("KWD", "18.600", 18_600, 18_600, 5_010, 5_010),
        ("EUR", "19.99", 1_999, 1_999, 1, 1),
        ("ISK", "5000", 5_000, 500_000, 1_234, 123_400),
    ],
)
def test_r7_an_amount_is_exact_on_both_sides(
    shop: Shop, currency: str, price: str, minor: int, units: int, part_minor: int, part_units: int
) -> None:
    """R7: the buyer sees ISO minor units, the books hold the provider's, a part and the rest come back exactly."""
    event = shop.sell(price=price, currency=currency)
    order_id = shop.order(event, quantity=2)
    order = shop.until(event, order_id, "confirmed")
    path = f"/{event}/orders/{order_id}/refunds"
    entry = shop.books(event)[order_id]
    shop.staff("POST", path, {"total_minor": part_minor})
    wait_for(lambda: shop.books(event), lambda books: books[order_id]["refunded_minor"] == part_units)
    shop.staff("POST", path, {})
    shop.drained(event)

    assert (order["amount"]["minor"], order["amount"]["currency"]) == (2 * minor, currency)
    assert (entry["amount_minor"], entry["captured_minor"], entry["currency"]) == (
        2 * units,
        2 * units,
        currency.lower(),
    )
    assert shop.books(event)[order_id]["refunded_minor"] == 2 * units
    assert shop.stored(event, order_id).payment.refunded_minor == 2 * minor
    shop.assert_sound(event)


@pytest.mark.parametrize(
    ("currency", "price"),
    [
        ("EUR", "0.49"),
        ("JPY", "49"),
        ("KWD", "1.005"),
        ("EUR", "999999.99"),
        ("XAU", "5"),
        ("BIF", "0.5"),
        ("IRR", "900"),
    ],
)
def test_r7_a_price_that_cannot_be_charged_is_refused_with_the_sale(shop: Shop, currency: str, price: str) -> None:
    """R7: below the least, not exact, too high for ten tickets, or no currency of the provider's."""
    with pytest.raises(Invalid):
        shop.sell(price=price, currency=currency)


def test_a_part_that_cannot_be_paid_back_exactly_is_refused(shop: Shop) -> None:
    """Card networks take two of the three decimals of KWD."""
    event = shop.sell(price="18.600", currency="KWD")
    order_id = shop.order(event)
    shop.until(event, order_id, "confirmed")

    with pytest.raises(Invalid, match="last digit"):
        shop.staff("POST", f"/{event}/orders/{order_id}/refunds", {"total_minor": 5})
