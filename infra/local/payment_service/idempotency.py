"""Idempotency keys as Stripe keeps them: the first answer under a key is the answer, errors included.

Other parameters or another endpoint under a key are refused. A key still at work is refused too (409). Keys are
forgotten after a day. Source: https://docs.stripe.com/api/idempotent_requests
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import ApiError

KEY_MAX_CHARS = 255
FORGET_AFTER_S = 86_400.0
PURGE_BATCH = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with. `body` is JSON text."""

    status: int
    body: str
    replayed: bool = False

    @staticmethod
    def of(body: Mapping[str, Any], status: int = 200) -> "Answer":
        """An answer with that JSON object."""
        return Answer(status, json.dumps(body, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request under an idempotency key; `fingerprint` stands for its parameters, whatever their order."""

    key: str
    path: str
    fingerprint: str
    now_ms: int
    forget_after_ms: int
    forgotten: bool = False


def fingerprint(pairs: list[tuple[str, str]]) -> str:
    """A digest of form parameters that does not depend on their order."""
    return hashlib.sha256(json.dumps(sorted(pairs)).encode()).hexdigest()


def once(books: Books, request: KeyedRequest | None, act: Callable[[], Answer]) -> Answer:
    """Answer from the record under the key, or act and record, in the one transaction the caller is in."""
    if request is None:
        return _tried(act)[0]
    earlier = _recall(books, request)
    if earlier is not None:
        return earlier
    answer, saved = _tried(act)
    if saved:
        _record(books, request, answer)
    return answer


def forget_all(books: Books) -> int:
    """Forget every key; returns how many."""
    return books.connection.execute("DELETE FROM idempotency").rowcount


def _tried(act: Callable[[], Answer]) -> tuple[Answer, bool]:
    try:
        return act(), True
    except ApiError as error:
        return Answer.of(error.body(), error.status), error.saved


def _recall(books: Books, request: KeyedRequest) -> Answer | None:
    if request.forgotten:
        return None
    row = books.connection.execute(
        "SELECT * FROM idempotency WHERE key = ? AND created_at_ms > ?",
        (request.key, request.now_ms - request.forget_after_ms),
    ).fetchone()
    if row is None:
        return None
    if row["path"] != request.path:
        raise _reused(
            f"Keys for idempotent requests can only be used for the same endpoint they were first used for "
            f"('{row['path']}' vs '{request.path}')."
        )
    if row["fingerprint"] != request.fingerprint:
        raise _reused(
            "Keys for idempotent requests can only be used with the same parameters they were first used with."
        )
    return Answer(row["status"], row["body"], replayed=True)


def _record(books: Books, request: KeyedRequest, answer: Answer) -> None:
    books.connection.execute(
        "INSERT OR REPLACE INTO idempotency (key, path, fingerprint, status, body, created_at_ms) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (request.key, request.path, request.fingerprint, answer.status, answer.body, request.now_ms),
    )
    books.connection.execute(
        "DELETE FROM idempotency WHERE key IN "
        "(SELECT key FROM idempotency WHERE created_at_ms <= ? ORDER BY created_at_ms LIMIT ?)",
        (request.now_ms - request.forget_after_ms, PURGE_BATCH),
    )


def _reused(message: str) -> ApiError:
    return ApiError(400, "idempotency_error", f"{message} Use another key if you meant another request.")


class InFlight:
    """Keys of requests that are being carried out now."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    @contextmanager
    def hold(self, key: str | None) -> Iterator[None]:
        """Hold a key for the length of a request; a second holder meets a 409."""
        if key is None:
            yield
            return
        if key in self._keys:
            raise ApiError(
                409,
                "idempotency_error",
                "There is currently another in-progress request using this idempotency key. Try again later.",
                code="idempotency_key_in_use",
            )
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)
