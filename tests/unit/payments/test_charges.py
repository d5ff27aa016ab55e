"""Amounts at the payment service's door."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Broken, Invalid
from shared.domain.money import Money, currency_exponent, money_from_decimal
from shared.payments.charges import (
    COARSER,
    FINER,
    LAST_DIGIT_ZERO,
    MAXIMUM,
    MINIMUM,
    SUPPORTED,
    charge_amount,
    check_chargeable,
    money_of,
    rounded_money_of,
)


@pytest.mark.parametrize(
    ("text", "currency", "units"),
    [
        ("80", "JPY", 80),
        ("18.600", "KWD", 18_600),
        ("35.200", "BHD", 35_200),
        ("5000", "ISK", 500_000),
        ("20000", "UGX", 2_000_000),
        ("700.00", "MGA", 700),
        ("19.99", "EUR", 1_999),
        ("8.20", "EUR", 820),
        ("1.15", "EUR", 115),
        ("4.35", "EUR", 435),
        ("175.00", "HUF", 17_500),
    ],
)
def test_amounts_in_the_providers_units(text: str, currency: str, units: int) -> None:
    """R7: the provider counts some currencies otherwise than ISO 4217."""
    amount = money_from_decimal(text, currency)

    assert charge_amount(amount) == units
    assert money_of(units, currency.lower()) == amount


@pytest.mark.parametrize(
    ("minor", "currency"),
    [
        (1_005, "KWD"),
        (29, "EUR"),
        (49, "JPY"),
        (17_499, "HUF"),
        (1, "GBP"),
        (70_050, "MGA"),
        (100_000_000, "EUR"),
        (1_000_000, "ISK"),
        (1_000, "KPW"),
        (1_000, "XTS"),
    ],
)
def test_what_cannot_be_charged_exactly_is_refused(minor: int, currency: str) -> None:
    """R7: fractions that get lost, amounts too small or too large, and currencies not charged are refused."""
    with pytest.raises(Invalid) as refused:
        charge_amount(Money(minor, currency))
    with pytest.raises(Invalid):
        check_chargeable(Money(minor, currency))

    assert refused.value.reason == "not-chargeable"


@given(st.sampled_from(sorted(SUPPORTED)), st.integers(1, 10**9))
def test_what_is_charged_comes_back_exactly(currency: str, minor: int) -> None:
    """Every amount that is taken has its one counterpart, in the provider's limits; the others are refused."""
    amount = Money(minor, currency)
    try:
        units = charge_amount(amount)
    except Invalid:
        return
    assert money_of(units, currency.lower()) == amount
    assert units >= MINIMUM.get(currency, 1)
    assert currency not in LAST_DIGIT_ZERO or units % 10 == 0


@given(st.integers(1, 10_000))
def test_every_price_in_cents_is_charged_as_it_is(cents: int) -> None:
    """R7: 0.01 to 100.00 EUR are charged to the cent, or refused for being too small."""
    if cents < MINIMUM["EUR"]:
        with pytest.raises(Invalid):
            charge_amount(Money(cents, "EUR"))
    else:
        assert charge_amount(Money(cents, "EUR")) == cents


def test_a_free_price_is_never_charged() -> None:
    """R8: a price of 0 fits every currency; charging 0 does not."""
    check_chargeable(Money(0, "EUR"), most=10)
    with pytest.raises(Invalid):
        charge_amount(Money(0, "EUR"))


def test_the_largest_order_must_be_chargeable_too() -> None:
    """A price that fits once is refused when the largest order would be too much."""
    check_chargeable(Money(MAXIMUM // 10, "EUR"), most=10)
    with pytest.raises(Invalid, match="above the highest"):
        check_chargeable(Money(MAXIMUM // 10 + 1, "EUR"), most=10)


def test_fractions_from_the_provider_stop_the_line() -> None:
    """An amount of ours that comes back in fractions is Broken; of others it is only looked at."""
    with pytest.raises(Broken):
        money_of(550, "isk")
    assert rounded_money_of(550, "isk") == Money(5, "ISK")


def test_the_tables_name_known_currencies() -> None:
    """Every currency in the tables has a minor unit in ISO 4217, and the exceptions are exceptions."""
    assert {currency_exponent(code) for code in SUPPORTED} <= {0, 2, 3}
    assert set(MINIMUM) | set(FINER) | set(COARSER) | LAST_DIGIT_ZERO <= SUPPORTED
    assert {code for code in SUPPORTED if currency_exponent(code) == 3} == LAST_DIGIT_ZERO
