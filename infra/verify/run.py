"""Reads, checks, reads what looks wrong once more, and answers every invariant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from infra.load.receipts import Receipt
from infra.verify.answers import check_no_server_error, check_private
from infra.verify.facts import Facts
from infra.verify.limits import check_limits
from infra.verify.line import check_line
from infra.verify.money import check_money
from infra.verify.promises import check_nothing_lost, check_one_order_a_key, check_repeats
from infra.verify.read import Books, Progress, Reader, Reading, quiet
from infra.verify.seats import check_seats
from infra.verify.verdict import Truth, Verdict
from shared.ports.control import CheckReport
from shared.ports.system import Clock

Check = Callable[[Facts], Verdict]
CHECKS: tuple[Check, ...] = (
    check_seats,
    check_nothing_lost,
    check_one_order_a_key,
    check_money,
    check_repeats,
    check_line,
    check_limits,
    check_no_server_error,
    check_private,
)
# What looks wrong is read again this often, this many orders at a time.
MAX_ROUNDS = 3
MAX_SUSPECTS = 1000


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdicts, I1 to I9, and the facts they rest on."""

    verdicts: tuple[Verdict, ...]
    facts: Facts

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The invariants that are false."""
        return tuple(verdict for verdict in self.verdicts if verdict.truth is Truth.FALSE)

    @property
    def truths(self) -> dict[str, str]:
        """`{"I1": "true", …}`."""
        return {verdict.invariant: str(verdict.truth) for verdict in self.verdicts}


def report_of(verification: Verification, now_ms: int) -> CheckReport:
    """Write down how it went, for whoever asks later."""
    event_id = verification.facts.sale.event_id
    return CheckReport("verify", event_id, now_ms, good=not verification.broken, facts=verification.truths)


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Apply every check."""
    return tuple(check(facts) for check in CHECKS)


def verify(
    store: Reading,
    books: Books | None,
    event_id: str,
    *,
    clock: Clock,
    receipts: Iterable[Receipt] | None = None,
    progress: Progress = quiet,
) -> Verification:
    """Check one event. NotFound when there is no such event; Unavailable when a back end stays silent.

    Without `books` (the payment gateway) I4 is unchecked; without `receipts` those invariants that only clients know.
    """
    reader = Reader(store, event_id, clock, progress)
    facts = reader.facts(books, receipts)
    verdicts = judge(facts)
    for _ in range(MAX_ROUNDS):
        suspects = sorted(set().union(*(verdict.suspects for verdict in verdicts)))
        if not suspects:
            break
        facts = reader.again(facts, books, islice(suspects, MAX_SUSPECTS))
        verdicts = judge(facts)
        if not facts.moving:
            break
    return Verification(verdicts, facts)
