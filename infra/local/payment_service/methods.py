"""Test payment methods: an id says what happens when an intent is confirmed with it.

Stripe's own test ids (https://docs.stripe.com/testing) and a few of ours: `pm_ok…`, `pm_decline…`, `pm_processing…`.
"""

from dataclasses import dataclass

from infra.local.payment_service.errors import missing


@dataclass(frozen=True, slots=True)
class Decline:
    """A refusal by the card's bank: Stripe's error `code` and the bank's `decline_code`."""

    code: str
    decline_code: str
    message: str


@dataclass(frozen=True, slots=True)
class Succeeds:
    """The money is taken at once."""


@dataclass(frozen=True, slots=True)
class Declines:
    """The bank refuses at once."""

    decline: Decline


@dataclass(frozen=True, slots=True)
class Processes:
    """The answer comes later: success, or `decline`."""

    decline: Decline | None


@dataclass(frozen=True, slots=True)
class NeedsAction:
    """The bank wants the buyer to prove who they are."""


Outcome = Succeeds | Declines | Processes | NeedsAction

GENERIC = Decline("card_declined", "generic_decline", "Your card was declined.")
INSUFFICIENT = Decline("card_declined", "insufficient_funds", "Your card has insufficient funds.")
AUTHENTICATION = Decline(
    "authentication_required",
    "authentication_required",
    "Your card was declined. This transaction requires authentication.",
)
NOT_AUTHENTICATED = Decline(
    "payment_intent_authentication_failure",
    "authentication_required",
    "The provided PaymentMethod has failed authentication.",
)
# Declines by the suffix of Stripe's `pm_card_chargeDeclined…` and `pm_card_visa_chargeDeclined…` ids.
DECLINES = {
    "": GENERIC,
    "InsufficientFunds": INSUFFICIENT,
    "LostCard": Decline("card_declined", "lost_card", "Your card was declined."),
    "StolenCard": Decline("card_declined", "stolen_card", "Your card was declined."),
    "ExpiredCard": Decline("expired_card", "expired_card", "Your card has expired."),
    "IncorrectCvc": Decline("incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect."),
    "ProcessingError": Decline("processing_error", "processing_error", "An error occurred while processing your card."),
    "Fraudulent": Decline("card_declined", "fraudulent", "Your card was declined."),
    "VelocityLimitExceeded": Decline("card_declined", "card_velocity_exceeded", "Your card was declined."),
}
BRANDS = frozenset(
    {
        "visa",
        "visa_debit",
        "mastercard",
        "mastercard_debit",
        "mastercard_prepaid",
        "amex",
        "discover",
        "diners",
        "jcb",
        "unionpay",
    }
)
NEED_ACTION = frozenset(
    {"pm_card_authenticationRequired", "pm_card_threeDSecure2Required", "pm_card_threeDSecureRequired"}
)


def outcome_of(method_id: str) -> Outcome:
    """What the payment method does when it is confirmed; an unknown id is an `ApiError` (400)."""
    if method_id.startswith("pm_ok") or method_id.removeprefix("pm_card_") in BRANDS:
        return Succeeds()
    if method_id.startswith("pm_decline"):
        return Declines(GENERIC)
    if method_id.startswith("pm_processing_fail"):
        return Processes(INSUFFICIENT)
    if method_id.startswith("pm_processing"):
        return Processes(None)
    if method_id in NEED_ACTION:
        return NeedsAction()
    return Declines(_named_decline(method_id))


def _named_decline(method_id: str) -> Decline:
    for prefix in ("pm_card_visa_chargeDeclined", "pm_card_chargeDeclined"):
        if method_id.startswith(prefix) and method_id.removeprefix(prefix) in DECLINES:
            return DECLINES[method_id.removeprefix(prefix)]
    raise missing("PaymentMethod", method_id, param="payment_method", status=400)


def check_known(method_id: str) -> None:
    """Raise the `ApiError` for a payment method that does not exist."""
    outcome_of(method_id)
