"""What each call does to the books, inside the writer's transaction. Errors are raised before anything is written."""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infra.local.payment_service import intents, render
from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import ApiError, invalid, missing, unexpected_state
from infra.local.payment_service.idempotency import Answer
from infra.local.payment_service.intents import Attempt, Move
from infra.local.payment_service.methods import GENERIC, Decline, Declines, outcome_of
from infra.local.payment_service.records import Charge, Event, Intent, Refund, Status


@dataclass(frozen=True, slots=True)
class Call:
    """What a call brings besides its parameters.

    `subject` names the request for the dice and the event; `refused` is set when the service was told to decline.
    """

    now_ms: int
    subject: str
    api_version: str
    settle_delay_ms: int = 0
    search_lag_ms: int = 0
    idempotency_key: str | None = None
    refused: bool = False
    public: bool = False
    expand: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NewIntent:
    """Parameters of a create; `confirm` takes the money in the same call."""

    amount: int
    currency: str
    payment_method: str | None = None
    confirm: bool = False
    off_session: bool = False
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewRefund:
    """Parameters of a refund; exactly one of `intent_id` and `charge_id`; no amount: all that is left."""

    intent_id: str | None = None
    charge_id: str | None = None
    amount: int | None = None
    reason: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


def new_id(prefix: str) -> str:
    """An unguessable id in Stripe's shape."""
    return f"{prefix}_{secrets.token_hex(12)}"


def create_intent(books: Books, call: Call, new: NewIntent) -> Answer:
    """Create an intent, and confirm it at once when asked to."""
    intent_id = new_id("pi")
    intent = Intent(
        id=intent_id,
        created_at_ms=call.now_ms,
        amount=new.amount,
        currency=new.currency,
        client_secret=f"{intent_id}_secret_{secrets.token_urlsafe(18)}",
        status=Status.REQUIRES_CONFIRMATION if new.payment_method else Status.REQUIRES_PAYMENT_METHOD,
        payment_method=new.payment_method,
        metadata=new.metadata,
        description=new.description,
    )
    books.add_intent(intent)
    _tell(books, call, "payment_intent.created", intent, render.intent_json(intent))
    if not new.confirm:
        return _intent_answer(books, call, intent)
    return _confirmed(books, call, intent, new.payment_method, off_session=new.off_session)


def confirm_intent(
    books: Books,
    call: Call,
    intent_id: str,
    *,
    payment_method: str | None,
    off_session: bool,
    client_secret: str | None,
) -> Answer:
    """Confirm an intent with the given method, or with the one it has."""
    intent = _intent(books, intent_id)
    check_secret(intent, call, client_secret)
    return _confirmed(books, call, intent, payment_method or intent.payment_method, off_session=off_session)


def cancel_intent(books: Books, call: Call, intent_id: str, *, reason: str | None) -> Answer:
    """Close an intent for good."""
    intent = _intent(books, intent_id)
    move = _allowed(call, intent, lambda: intents.cancel(intent, reason=reason, now_ms=call.now_ms))
    return _done(books, call, move)


def authenticate_intent(books: Books, call: Call, intent_id: str, *, proven: bool) -> Answer:
    """The buyer passed, or failed, what their bank asked."""
    intent = _intent(books, intent_id)
    attempt = _attempt(call, intent.payment_method or "", off_session=False, decline=None)
    return _done(books, call, _allowed(call, intent, lambda: intents.authenticate(intent, attempt, proven=proven)))


def settle_intent(books: Books, call: Call, intent_id: str, *, decline: Decline | None) -> Answer:
    """The bank answers for a processing intent."""
    intent = _intent(books, intent_id)
    charge = books.charge(intent.latest_charge or "")
    if charge is None:
        raise unexpected_state("There is nothing to settle on this PaymentIntent.", render.intent_json(intent))
    return _done(books, call, _allowed(call, intent, lambda: intents.settle(intent, charge, decline)))


def create_refund(books: Books, call: Call, new: NewRefund) -> Answer:
    """Give back money that was captured, never more than is left of it."""
    intent, charge = _refundable(books, new)
    left = intent.captured - intent.refunded
    amount = left if new.amount is None else new.amount
    if left == 0:
        raise ApiError(
            400,
            "invalid_request_error",
            f"Charge {charge.id} has already been refunded.",
            code="charge_already_refunded",
            saved=True,
        )
    if amount > left:
        raise ApiError(
            400,
            "invalid_request_error",
            f"Refund amount ({amount} {charge.currency}) is greater than unrefunded amount on charge "
            f"({left} {charge.currency}).",
            param="amount",
            saved=True,
        )
    refund = Refund(
        id=new_id("re"),
        intent_id=intent.id,
        charge_id=charge.id,
        created_at_ms=call.now_ms,
        amount=amount,
        currency=charge.currency,
        reason=new.reason,
        metadata=new.metadata,
    )
    after = replace(intent, refunded=intent.refunded + amount)
    books.add_refund(refund)
    books.save_intent(after)
    _tell(books, call, "refund.created", after, render.refund_json(refund))
    _tell(books, call, "charge.refunded", after, render.charge_json(charge, after))
    return Answer.of(render.refund_json(refund))


def check_secret(intent: Intent, call: Call, client_secret: str | None) -> None:
    """A publishable key sees an intent only together with its client secret."""
    if (call.public or client_secret is not None) and not secrets.compare_digest(
        intent.client_secret.encode(), (client_secret or "").encode()
    ):
        raise missing("payment_intent", intent.id, param="intent")


def _confirmed(books: Books, call: Call, intent: Intent, method_id: str | None, *, off_session: bool) -> Answer:
    def move() -> Move:
        intents.check_confirmable(intent)
        if method_id is None:
            raise intents.WrongState(
                "You cannot confirm this PaymentIntent because it's missing a payment method. Confirm it with one."
            )
        decline = GENERIC if call.refused else None
        return intents.confirm(intent, _attempt(call, method_id, off_session=off_session, decline=decline))

    return _done(books, call, _allowed(call, intent, move))


def _attempt(call: Call, method_id: str, *, off_session: bool, decline: Decline | None) -> Attempt:
    known = outcome_of(method_id)
    return Attempt(
        method_id=method_id,
        outcome=Declines(decline) if decline else known,
        off_session=off_session,
        charge_id=new_id("ch"),
        now_ms=call.now_ms,
        settle_delay_ms=call.settle_delay_ms,
    )


def _done(books: Books, call: Call, move: Move) -> Answer:
    if move.charge is not None:
        books.save_charge(move.charge)
    books.save_intent(move.intent)
    _tell(books, call, move.event, move.intent, render.intent_json(move.intent))
    if move.decline is None or move.charge is None:
        return _intent_answer(books, call, move.intent)
    return _declined_answer(call, move.intent, move.charge, move.decline)


def _declined_answer(call: Call, intent: Intent, charge: Charge, decline: Decline) -> Answer:
    error = ApiError(
        402,
        "card_error",
        decline.message,
        code=decline.code,
        extra={"charge": charge.id, "decline_code": decline.decline_code, "payment_intent": _shown(call, intent)},
    )
    return Answer.of(error.body(), error.status)


def _intent_answer(books: Books, call: Call, intent: Intent) -> Answer:
    if call.public:
        return Answer.of(render.public_intent_json(intent))
    expands = "latest_charge" in call.expand and intent.latest_charge is not None
    charge = books.charge(intent.latest_charge or "") if expands else None
    return Answer.of(render.intent_json(intent, charge))


def _intent(books: Books, intent_id: str) -> Intent:
    intent = books.intent(intent_id)
    if intent is None:
        raise missing("payment_intent", intent_id, param="intent")
    return intent


def _allowed(call: Call, intent: Intent, move: Callable[[], Move]) -> Move:
    try:
        return move()
    except intents.WrongState as error:
        raise unexpected_state(str(error), _shown(call, intent)) from error


def _shown(call: Call, intent: Intent) -> dict[str, Any]:
    return render.public_intent_json(intent) if call.public else render.intent_json(intent)


def _refundable(books: Books, new: NewRefund) -> tuple[Intent, Charge]:
    if new.intent_id is not None:
        intent = books.intent(new.intent_id)
        if intent is None:
            raise missing("payment_intent", new.intent_id, param="payment_intent")
        charge = books.captured_charge(intent.id)
        if charge is None:
            raise invalid(
                f"This PaymentIntent ({intent.id}) does not have a successful charge to refund.", param="payment_intent"
            )
        return intent, charge
    charge = books.charge(new.charge_id or "")
    if charge is None:
        raise missing("charge", new.charge_id or "", param="charge")
    intent = _intent(books, charge.intent_id)
    if books.captured_charge(intent.id) != charge:
        raise invalid(f"Charge {charge.id} was not captured, so it cannot be refunded.", param="charge")
    return intent, charge


def _tell(books: Books, call: Call, kind: str, intent: Intent, data: Mapping[str, Any]) -> None:
    event_id = new_id("evt")
    payload = render.event_json(
        event_id,
        kind,
        data,
        created_at_ms=call.now_ms,
        api_version=call.api_version,
        idempotency_key=call.idempotency_key,
    )
    text = json.dumps(payload, separators=(",", ":"))
    books.tell(Event(event_id, kind, intent.id, f"{kind}|{call.subject}", call.now_ms, text))
