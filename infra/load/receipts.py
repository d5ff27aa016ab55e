"""What a buyer was told, one JSON line per idempotency key and body: the evidence that `onsale verify` reads.

A line: ``{"event", "buyer", "key", "body", "orders": [id…], "last": status | null, "answers": [[kind, at_ms, status,
ms, retry_after_s | null, problem | null]…]}``. `body` is the SHA-256 of the request body, `orders` the ids that 202
answers named, `last` the status last read, `at_ms` the time at which an answer came and `ms` how long it took; status
0 means that no answer came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from shared.domain.errors import Invalid


class Kind(StrEnum):
    """What a request was for."""

    PLACE = "place"
    """An order under its key, for the first time or after a refusal that says when to come back."""
    REPEAT = "repeat"
    """The very same order under the same key, though it was answered."""
    OTHER_BODY = "other_body"
    """Another body under a used key."""
    READ = "read"
    CANCEL = "cancel"
    PAY = "pay"
    """Another card, after one was declined."""
    FOREIGN = "foreign"
    """Another buyer's order."""
    STAFF = "staff"
    """A staff route with a buyer's token."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the door."""

    kind: Kind
    at_ms: int
    status: int
    ms: float
    retry_after_s: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Everything a buyer was told about one key and body."""

    event_id: str
    buyer_id: str
    key: str
    body_sha256: str
    order_ids: tuple[str, ...]
    last_status: str | None
    answers: tuple[Answer, ...]


def receipt_line(receipt: Receipt) -> str:
    """Write a receipt as one line of JSON."""
    return json.dumps(
        {
            "event": receipt.event_id,
            "buyer": receipt.buyer_id,
            "key": receipt.key,
            "body": receipt.body_sha256,
            "orders": receipt.order_ids,
            "last": receipt.last_status,
            "answers": [
                [answer.kind, answer.at_ms, answer.status, round(answer.ms, 2), answer.retry_after_s, answer.problem]
                for answer in receipt.answers
            ],
        },
        separators=(",", ":"),
    )


def read_receipts(path: Path) -> Iterator[Receipt]:
    """Read a file of receipts line by line; Invalid, naming the line, when one is not a receipt."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parse(line, f"{path}:{number}")
    except OSError as error:
        raise Invalid(f"The receipts {path} cannot be read: {error.strerror}.", field="receipts") from None


def _parse(line: str, where: str) -> Receipt:
    try:
        value = json.loads(line)
        return Receipt(
            event_id=value["event"],
            buyer_id=value["buyer"],
            key=value["key"],
            body_sha256=value["body"],
            order_ids=tuple(value["orders"]),
            last_status=value["last"],
            answers=tuple(
                Answer(Kind(kind), int(at_ms), int(status), float(ms), after, problem)
                for kind, at_ms, status, ms, after, problem in value["answers"]
            ),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{where} is not a receipt: {error!r}.", field="receipts") from None
