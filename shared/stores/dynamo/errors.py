"""What AWS answers when it does not do what was asked, in our own families.

One table maps error codes to classes. A failed condition and a cancelled transaction are answers, not errors: they
carry the items that stood in the way, and whoever made the call reads its verdict from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
)
from msgspec import Struct

from shared.domain.errors import AnswerLost, Broken, Contended, OnsaleError, Throttled, Unavailable
from shared.stores.wire import Item, from_wire

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CREDENTIALS = "AWS does not accept these credentials for this table; check the role or the keys of this process."
_CONFLICT = "Another transaction was writing the same item; repeat the same request after a short random wait."

# Error code → our class and its sentence; None: the class's own. "Error handling with DynamoDB", Developer Guide.
_CODES: Mapping[str, tuple[type[OnsaleError], str | None]] = {
    "ThrottlingException": (Throttled, None),
    "ProvisionedThroughputExceededException": (Throttled, None),
    "RequestLimitExceeded": (Throttled, None),
    "LimitExceededException": (Throttled, None),
    "TransactionConflictException": (Contended, _CONFLICT),
    "TransactionInProgressException": (Contended, "This transaction is still under way; repeat it shortly."),
    "ReplicatedWriteConflictException": (Contended, _CONFLICT),
    "InternalServerError": (AnswerLost, None),
    "InternalFailure": (AnswerLost, None),
    "ServiceUnavailable": (AnswerLost, None),
    "RequestTimeout": (AnswerLost, None),
    "ResourceNotFoundException": (
        Unavailable,
        "A table (or its index) does not exist; create the tables, or check the table prefix and the region.",
    ),
    "ResourceInUseException": (Unavailable, "The table is being changed; try again shortly."),
    "AccessDeniedException": (Unavailable, _CREDENTIALS),
    "ExpiredTokenException": (Unavailable, _CREDENTIALS),
    "IncompleteSignature": (Unavailable, _CREDENTIALS),
    "InvalidSignatureException": (Unavailable, _CREDENTIALS),
    "MissingAuthenticationTokenException": (Unavailable, _CREDENTIALS),
    "UnrecognizedClientException": (Unavailable, _CREDENTIALS),
    "IdempotentParameterMismatchException": (
        Broken,
        "One operation name was used for two different transactions; stop and look at who named them.",
    ),
}
# Codes inside a cancelled transaction: TransactWriteItems, "Cancellation reasons", API Reference.
_THROTTLED = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"})
_CONFLICTING = frozenset({"TransactionConflict", "TransactionInProgress", "ReplicatedWriteConflict"})
_CONDITION = "ConditionalCheckFailed"

# Raised before anything was sent, so that a write cannot have been applied.
_NEVER_SENT = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)
_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)
_SERVER_ERROR = 500


class ConditionFailed(Exception):
    """A single write's condition did not hold; `item` is what is stored, None when nothing is."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the condition failed")
        self.item = item


class Verdict(Struct, frozen=True):
    """What became of one action of a cancelled transaction: whether its own condition failed, and on which item."""

    failed: bool
    item: Item | None = None


class Cancelled(Exception):
    """A transaction in which at least one condition failed; `verdicts` stand in the order of its actions.

    When it also met another transaction or a throttle, then a verdict that is not `failed` says nothing.
    """

    def __init__(self, verdicts: tuple[Verdict, ...], hindrance: Unavailable | None = None) -> None:
        super().__init__("a condition of the transaction failed")
        self.verdicts = verdicts
        self.hindrance = hindrance

    def need(self, *, decided: bool) -> None:
        """Raise what else was in the way, unless what the caller had to know is decided."""
        if self.hindrance is not None and not decided:
            raise self.hindrance


def answer_error(error: ClientError, *, writes: bool, tables: Sequence[str]) -> Exception:
    """Translate what the service answered; `tables` are those of a transaction's actions, in order."""
    answer: Mapping[str, Any] = error.response
    code = answer.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(_item(answer))
    if code == "TransactionCanceledException":
        return _cancelled(answer.get("CancellationReasons", ()), tables)
    kind, sentence = _CODES.get(code, (None, None))
    if kind is Throttled:
        return _throttled(answer)
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # Where the SDK finds no code it repeats the status: something in between has answered, not DynamoDB.
    if kind is None and (status >= _SERVER_ERROR or code.isdigit()):
        kind = AnswerLost
    if kind is None:
        return Broken(f"DynamoDB refused the request with {code}: {answer.get('Error', {}).get('Message', '')}")
    if kind is AnswerLost and not writes:
        return Unavailable()
    return kind(sentence)


def transport_error(error: BotoCoreError, *, writes: bool, endpoint: str) -> OnsaleError:
    """Translate what went wrong on the way to the service or back."""
    if isinstance(error, _NEVER_SENT):
        return Unavailable(f"DynamoDB cannot be reached at {endpoint}; check the address, and that it is running.")
    if isinstance(error, _NO_CREDENTIALS):
        return Unavailable("There are no usable AWS credentials; give this process a role or keys.")
    return no_answer(writes=writes)


def no_answer(*, writes: bool) -> OnsaleError:
    """Tell that a request may have arrived and that nothing came of it that can be read."""
    return AnswerLost() if writes else Unavailable("DynamoDB did not answer in time; try again shortly.")


def _cancelled(reasons: Sequence[Mapping[str, Any]], tables: Sequence[str]) -> Exception:
    """Conditions speak first: they are the caller's business, and repeating would not change them."""
    codes = [reason.get("Code", "None") for reason in reasons]
    hindrance = _hindrance(codes, tables)
    if _CONDITION in codes:
        verdicts = tuple(Verdict(reason.get("Code") == _CONDITION, _item(reason)) for reason in reasons)
        return Cancelled(verdicts, hindrance)
    others = sorted(set(codes) - _THROTTLED - _CONFLICTING - {"None"})
    if others:
        return Broken(f"DynamoDB refused a transaction with {', '.join(others)}; stop and look.")
    return hindrance or Contended(_CONFLICT)


def _hindrance(codes: Sequence[str], tables: Sequence[str]) -> Unavailable | None:
    for code, table in zip(codes, tables, strict=False):
        if code in _THROTTLED:
            return Throttled(reason=code, resource=table)
    return Contended(_CONFLICT) if _CONFLICTING.intersection(codes) else None


def _throttled(answer: Mapping[str, Any]) -> Throttled:
    """Read the first reason; the two exceptions spell the list's name differently."""
    reasons = answer.get("ThrottlingReasons") or answer.get("throttlingReasons") or [{}]
    return Throttled(reason=reasons[0].get("reason", ""), resource=reasons[0].get("resource", ""))


def _item(answer: Mapping[str, Any]) -> Item | None:
    item = answer.get("Item")
    return from_wire(item) if item else None
