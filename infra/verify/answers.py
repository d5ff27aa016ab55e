"""I8 and I9: what the door answered, from the receipts alone."""

from __future__ import annotations

from infra.load.receipts import Kind
from infra.verify.facts import Facts
from infra.verify.promises import NEEDS_RECEIPTS
from infra.verify.verdict import Findings, Verdict, unchecked

_SERVER_ERRORS = range(500, 600)
_UNAVAILABLE = 503
_NOT_FOUND = 404
# The refusals that a foreign order or a staff route may give a buyer; 429 and 503 say nothing about the order.
_CLOSED_DOORS = {Kind.FOREIGN: {_NOT_FOUND, 429, _UNAVAILABLE, 0}, Kind.STAFF: {401, 403, 429, _UNAVAILABLE, 0}}


def check_no_server_error(facts: Facts) -> Verdict:
    """I8: no answer of 500; 503 says when to come back.

    A bare 503 without our problem body comes from a gateway before the door and is not ours.
    """
    if facts.receipts is None:
        return unchecked("I8", NEEDS_RECEIPTS)
    findings = Findings()
    total = 0
    for shape, count in facts.receipts.answers.items():
        total += count
        if shape.status in _SERVER_ERRORS and shape.status != _UNAVAILABLE:
            findings.fault(f"{count} answers of {shape.status} to {shape.kind}")
        if shape.status == _UNAVAILABLE and shape.problem and not shape.says_when:
            findings.fault(f"{count} answers of 503 without Retry-After to {shape.kind}")
    if not total:
        return unchecked("I8", "The receipts hold no answer.")
    return findings.verdict("I8", f"the status of {total:,} answers in the receipts")


def check_private(facts: Facts) -> Verdict:
    """I9: buyers see their own orders only, and staff routes need staff scopes."""
    if facts.receipts is None:
        return unchecked("I9", NEEDS_RECEIPTS)
    findings = Findings()
    probes = 0
    for shape, count in facts.receipts.answers.items():
        if shape.kind in _CLOSED_DOORS:
            probes += count
            if shape.status not in _CLOSED_DOORS[shape.kind]:
                findings.fault(f"{count} answers of {shape.status} to {shape.kind} requests")
    if not probes:
        return unchecked("I9", "No client in the receipts tried to see another buyer's order.")
    return findings.verdict("I9", f"{probes:,} attempts to read foreign orders and staff routes")
