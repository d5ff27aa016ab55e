"""Money is exact, by the exponents of ISO 4217."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Invalid
from shared.domain.money import MAX_MINOR, Money, money_from_decimal


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("80", "JPY", 80),
        ("18.600", "KWD", 18_600),
        ("1.005", "KWD", 1_005),
        ("35.200", "BHD", 35_200),
        ("5000", "ISK", 5_000),
        ("700", "UGX", 700),
        ("19.99", "EUR", 1_999),
        ("8.20", "EUR", 820),
        ("1.15", "EUR", 115),
        ("0.29", "EUR", 29),
        ("4.35", "EUR", 435),
        ("0", "EUR", 0),
    ],
)
def test_r7_decimal_prices_become_exact_minor_units(text: str, currency: str, minor: int) -> None:
    """R7: a decimal price is read by the currency's own exponent, without rounding."""
    assert money_from_decimal(text, currency) == Money(minor, currency)


def test_r7_every_cent_from_one_to_a_hundred_euro_is_exact() -> None:
    """R7: no price between 0.01 and 100.00 loses a cent."""
    for cents in range(1, 10_001):
        assert money_from_decimal(f"{cents // 100}.{cents % 100:02d}", "EUR").minor == cents


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("0.5", "JPY"),
        ("1.0051", "KWD"),
        ("19.999", "EUR"),
        ("-1", "EUR"),
        ("-0", "EUR"),
        ("NaN", "EUR"),
        ("Infinity", "EUR"),
        ("1e400", "EUR"),
        ("1" * 40, "EUR"),
        ("abc", "EUR"),
        ("", "EUR"),
        ("1", "XXX"),
        ("1", "XAU"),
        ("1", "eur "),
        ("1", "ABC"),
    ],
)
def test_r9_what_is_no_exact_price_is_refused(text: str, currency: str) -> None:
    """R9: a price that the currency cannot hold, or that is no number, is refused and not rounded."""
    with pytest.raises(Invalid):
        money_from_decimal(text, currency)


@given(st.integers(0, MAX_MINOR), st.sampled_from(["JPY", "EUR", "KWD", "CLF"]))
def test_what_is_written_reads_back(minor: int, currency: str) -> None:
    """The text of an amount reads back as the same amount."""
    text, code = str(Money(minor, currency)).split(" ")
    assert money_from_decimal(text, code) == Money(minor, currency)
    assert Decimal(text) >= 0


def test_sums_keep_to_one_currency_and_one_range() -> None:
    """Different currencies are never added, and no sum leaves the exact range."""
    assert Money(150, "EUR").plus(Money(50, "EUR")) == Money(200, "EUR")
    assert Money(150, "EUR").times(3) == Money(450, "EUR")
    with pytest.raises(Invalid):
        Money(1, "EUR").plus(Money(1, "USD"))
    with pytest.raises(Invalid):
        Money(MAX_MINOR, "EUR").times(2)
