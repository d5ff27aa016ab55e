"""Amounts at the payment service's door: ISO 4217 minor units inside, Stripe's own units outside.

They differ for a few currencies only. What Stripe cannot charge exactly is refused, best when a sale is defined.
Source: https://docs.stripe.com/currencies (supported currencies, special cases, minimum and maximum amounts).
"""

from __future__ import annotations

from shared.domain.errors import Broken, Invalid
from shared.domain.money import Money

_SUPPORTED = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CLP CNY
    COP CRC CVE CZK DJF DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD
    JOD JPY KES KGS KHR KMF KRW KWD KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD
    NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB
    TJS TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VND VUV WST XAF XCD XOF XPF YER ZAR ZMW
"""
SUPPORTED = frozenset(_SUPPORTED.split())
# Stripe's units in one ISO minor unit: two decimals where ISO has none.
FINER = {"ISK": 100, "UGX": 100}
# ISO minor units in one of Stripe's: no decimals where ISO has two.
COARSER = {"MGA": 100}
# Three decimals, of which card networks take two: the last digit must be 0.
LAST_DIGIT_ZERO = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
# In Stripe's units. For other currencies Stripe derives one by exchange rate, which cannot be known here.
MINIMUM = {
    "AED": 200, "AUD": 50, "BRL": 50, "CAD": 50, "CHF": 50, "CZK": 1500, "DKK": 250, "EUR": 50, "GBP": 30,
    "HKD": 400, "HUF": 17500, "INR": 50, "JPY": 50, "MXN": 1000, "MYR": 200, "NOK": 300, "NZD": 50, "PLN": 200,
    "RON": 200, "SEK": 300, "SGD": 50, "THB": 1000, "USD": 50,
}  # fmt: skip
# Eight digits, more for a few currencies with large numbers.
MAXIMUM = 99_999_999
MAXIMUM_OF = {"IDR": 999_999_999_999}


def check_chargeable(price: Money, *, most: int = 1) -> None:
    """Raise Invalid with the reason when a price cannot be charged exactly, `most` times at once included.

    A price of 0 is never charged and always fits.
    """
    if price.minor > 0:
        charge_amount(price)
        charge_amount(price.times(most))


def charge_amount(amount: Money) -> int:
    """Return an amount in Stripe's units; Invalid when Stripe cannot charge it exactly."""
    units = refund_amount(amount)
    least, highest = MINIMUM.get(amount.currency, 1), MAXIMUM_OF.get(amount.currency, MAXIMUM)
    if units < least:
        raise _not_chargeable(f"{amount} is below the least amount that can be charged, {_money(least, amount)}.")
    if units > highest:
        raise _not_chargeable(f"{amount} is above the highest amount that can be charged, {_money(highest, amount)}.")
    return units


def refund_amount(amount: Money) -> int:
    """Return an amount in Stripe's units without regard to its size; Invalid when it has no exact counterpart."""
    currency = amount.currency
    if currency not in SUPPORTED:
        raise Invalid(f"The payment service does not charge in {currency}.", field="currency", code="not-chargeable")
    if amount.minor % COARSER.get(currency, 1):
        raise _not_chargeable(f"{amount} cannot be charged exactly: only whole units of {currency} can.")
    if currency in LAST_DIGIT_ZERO and amount.minor % 10:
        raise _not_chargeable(f"{amount} cannot be charged exactly: its last digit must be 0.")
    return amount.minor * FINER.get(currency, 1) // COARSER.get(currency, 1)


def money_of(units: int, currency: str) -> Money:
    """Return Stripe's units as money; Broken when they are no whole number of ISO minor units."""
    code = currency.upper()
    if units % FINER.get(code, 1):
        raise Broken(f"The payment service reports {units} units of {code}, which is no whole amount.")
    return rounded_money_of(units, code)


def rounded_money_of(units: int, currency: str) -> Money:
    """Return Stripe's units as money, rounded down; for intents that are not ours and are only looked at."""
    code = currency.upper()
    return Money(units * COARSER.get(code, 1) // FINER.get(code, 1), code)


def _not_chargeable(sentence: str) -> Invalid:
    return Invalid(sentence, field="price", code="not-chargeable")


def _money(units: int, like: Money) -> Money:
    return rounded_money_of(units, like.currency)
