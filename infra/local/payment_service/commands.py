"""Parameters of each call become a piece of work on the books; what fails validation never reaches them."""

from collections.abc import Callable

from infra.local.payment_service import actions
from infra.local.payment_service.actions import Call, NewIntent, NewRefund
from infra.local.payment_service.amounts import check_amount
from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import invalid
from infra.local.payment_service.idempotency import Answer
from infra.local.payment_service.methods import check_known
from infra.local.payment_service.params import Params, whole

Work = Callable[[Books], Answer]
# Reads what is asked for, and gives the work back; the object's id comes from the path.
Command = Callable[[Params, Call, str], Work]

# Taken and without effect: this service knows cards only, and captures at once.
WITHOUT_EFFECT = (
    "payment_method_types",
    "automatic_payment_methods",
    "confirmation_method",
    "return_url",
    "use_stripe_sdk",
)
CANCEL_REASONS = frozenset({"duplicate", "fraudulent", "requested_by_customer", "abandoned"})
REFUND_REASONS = frozenset({"duplicate", "fraudulent", "requested_by_customer"})
AUTOMATIC = frozenset({"automatic", "automatic_async"})


def create_intent(params: Params, call: Call, _object_id: str) -> Work:
    """POST /v1/payment_intents."""
    amount, currency = whole(params.needed("amount"), "amount") or 0, params.needed("currency").lower()
    check_amount(amount, currency)
    new = NewIntent(
        amount=amount,
        currency=currency,
        payment_method=_method(params),
        confirm=params.flag("confirm"),
        off_session=params.flag("off_session"),
        description=params.text("description"),
        metadata=params.metadata(),
    )
    params.choice("capture_method", AUTOMATIC)
    _end(params)
    if new.confirm and new.payment_method is None:
        raise invalid("You must provide a payment_method to confirm at creation.", param="payment_method")
    if new.off_session and not new.confirm:
        raise invalid("off_session can only be given together with confirm.", param="off_session")
    return lambda books: actions.create_intent(books, call, new)


def confirm_intent(params: Params, call: Call, intent_id: str) -> Work:
    """POST /v1/payment_intents/{id}/confirm, with a secret key or as the buyer's browser."""
    method, off_session, secret = _method(params), params.flag("off_session"), params.text("client_secret")
    params.ignore("key")
    _end(params)
    return lambda books: actions.confirm_intent(
        books, call, intent_id, payment_method=method, off_session=off_session, client_secret=secret
    )


def cancel_intent(params: Params, call: Call, intent_id: str) -> Work:
    """POST /v1/payment_intents/{id}/cancel."""
    reason = params.choice("cancellation_reason", CANCEL_REASONS)
    _end(params)
    return lambda books: actions.cancel_intent(books, call, intent_id, reason=reason)


def create_refund(params: Params, call: Call, _object_id: str) -> Work:
    """POST /v1/refunds."""
    new = NewRefund(
        intent_id=params.text("payment_intent"),
        charge_id=params.text("charge"),
        amount=params.integer("amount"),
        reason=params.choice("reason", REFUND_REASONS),
        metadata=params.metadata(),
    )
    _end(params)
    if (new.intent_id is None) == (new.charge_id is None):
        raise invalid(
            "One of payment_intent and charge must be given.", param="payment_intent", code="parameter_missing"
        )
    if new.amount is not None and new.amount < 1:
        raise invalid("Invalid positive integer", param="amount", code="parameter_invalid_integer")
    return lambda books: actions.create_refund(books, call, new)


def _method(params: Params) -> str | None:
    method_id = params.text("payment_method")
    if method_id is not None:
        check_known(method_id)
    return method_id


def _end(params: Params) -> None:
    # What is expanded was read into the call before.
    params.ignore("expand", *WITHOUT_EFFECT)
    params.finish()
