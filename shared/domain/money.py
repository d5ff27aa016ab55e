"""Amounts of money: whole minor units and an ISO 4217 code, never a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from iso4217 import Currency
from msgspec import Struct

from shared.domain.errors import Invalid

# 2^53: the largest range that every JSON reader and both stores keep exact.
MAX_MINOR = 2**53


class Money(Struct, frozen=True):
    """`minor` whole minor units of `currency` (ISO 4217, upper case)."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        """Refuse what no price or sum may be."""
        if not 0 <= self.minor <= MAX_MINOR:
            raise Invalid(f"An amount must lie between 0 and {MAX_MINOR} minor units.", field="amount")

    def times(self, quantity: int) -> Money:
        """Return the price of `quantity` units."""
        return Money(self.minor * quantity, self.currency)

    def plus(self, other: Money) -> Money:
        """Add an amount of the same currency; Invalid for another one."""
        if other.currency != self.currency:
            raise Invalid(f"{other.currency} cannot be added to {self.currency}.", field="currency")
        return Money(self.minor + other.minor, self.currency)

    def __str__(self) -> str:
        """Write it as people do: `19.99 EUR`."""
        exponent = currency_exponent(self.currency)
        return f"{Decimal(self.minor).scaleb(-exponent):.{exponent}f} {self.currency}"


def currency_exponent(code: str) -> int:
    """Return how many decimals ISO 4217 gives the currency; Invalid for an unknown or unpriceable code."""
    try:
        exponent = Currency(code).exponent
    except ValueError:
        raise Invalid(f"{code!r} is not an ISO 4217 currency code.", field="currency") from None
    if exponent is None:
        raise Invalid(f"{code} has no minor unit and cannot price a ticket.", field="currency")
    return int(exponent)


def money_from_decimal(text: str, currency: str) -> Money:
    """Read a decimal such as `"19.99"` exactly; Invalid when the currency has fewer decimals than it shows."""
    exponent = currency_exponent(currency)
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise Invalid(f"{text!r} is not an amount.", field="price") from None
    if not amount.is_finite() or amount.is_signed() or amount.adjusted() > len(str(MAX_MINOR)):
        raise Invalid(f"{text!r} is not an amount a ticket can cost.", field="price")
    scaled = amount.scaleb(exponent)
    if scaled != scaled.to_integral_value():
        raise Invalid(f"{currency} has {exponent} decimals; {text} cannot be charged exactly.", field="price")
    return Money(int(scaled), currency)
