"""What Stripe accepts as an amount: whole minor units of its own, a least amount, a number of digits.

Source: https://docs.stripe.com/currencies (minimum and maximum charge amounts, special cases).
"""

import re

from infra.local.payment_service.errors import invalid

# In Stripe's own minor units. A currency that is not listed has no least amount here; Stripe derives one by exchange
# rate.
MINIMUM_MINOR = {
    "aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500, "dkk": 250, "eur": 50, "gbp": 30,
    "hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "nzd": 50, "pln": 200,
    "ron": 200, "sek": 300, "sgd": 50, "thb": 1000, "usd": 50,
}  # fmt: skip

# Charged with two decimals that must be zero, for the sake of old integrations.
WHOLE_HUNDREDS = frozenset({"isk", "ugx"})
# Three decimals, of which card networks take two.
LAST_DIGIT_ZERO = frozenset({"bhd", "jod", "kwd", "omr", "tnd"})
MAXIMUM_MINOR = 99_999_999
# Twelve digits for the currencies with large numbers.
MAXIMUM_MINOR_OF = {"idr": 999_999_999_999, "cop": 9_999_999_999, "huf": 9_999_999_999, "jpy": 9_999_999_999}

_CURRENCY = re.compile(r"[a-z]{3}")


def check_amount(amount: int, currency: str) -> None:
    """Raise the error that Stripe answers when `amount` (its minor units) cannot be charged in `currency`."""
    if not _CURRENCY.fullmatch(currency):
        raise invalid(f"Invalid currency: {currency}.", param="currency")
    if amount < 1:
        raise invalid(
            "This value must be greater than or equal to 1.", param="amount", code="parameter_invalid_integer"
        )
    least = MINIMUM_MINOR.get(currency, 1)
    if amount < least:
        raise invalid(f"Amount must be at least {least} {currency}.", param="amount", code="amount_too_small")
    most = MAXIMUM_MINOR_OF.get(currency, MAXIMUM_MINOR)
    if amount > most:
        raise invalid(f"Amount must be no more than {most} {currency}.", param="amount", code="amount_too_large")
    if currency in WHOLE_HUNDREDS and amount % 100:
        raise invalid(f"Amount in {currency} must be divisible by 100.", param="amount")
    if currency in LAST_DIGIT_ZERO and amount % 10:
        raise invalid(f"Amount in {currency} must end with a zero.", param="amount")
