"""I2, I3 and I5: what buyers were promised, compared with what is stored."""

from __future__ import annotations

from collections import defaultdict

from infra.verify.facts import Claim, Facts, OrderFact
from infra.verify.verdict import Findings, Truth, Verdict, unchecked
from shared.domain.order import FINAL, Status

NEEDS_RECEIPTS = "Needs the receipts of clients: name their file with --receipts."
# What may follow on a final status that a buyer has read.
_AFTER = {Status.CONFIRMED: {Status.CONFIRMED, Status.REFUNDED}}


def check_nothing_lost(facts: Facts) -> Verdict:
    """I2: an order that was answered 202 is stored, readable at every moment, and comes to an end."""
    findings = Findings()
    for order in facts.orders.values():
        if order.status not in FINAL and not order.waits_for_work:
            findings.fault(f"order {order.order_id} is {order.status}, and nothing is left to be done for it")
    if facts.receipts is None:
        return _only_faults(findings, "I2", f"looking for stranded ones among {len(facts.orders):,} orders")
    promised = 0
    for claim in facts.receipts.claims:
        for order_id in claim.order_ids:
            promised += 1
            _check_promise(findings, facts, claim, order_id)
    return findings.verdict("I2", f"{promised:,} receipts against {len(facts.orders):,} stored orders")


def _check_promise(findings: Findings, facts: Facts, claim: Claim, order_id: str) -> None:
    order = facts.orders.get(order_id)
    if order is None:
        findings.fault(f"order {order_id} was accepted and is not stored", order_id)
        return
    if claim.unreadable:
        findings.fault(f"order {order_id} was accepted and then not found by its buyer")
    if order.buyer_id != claim.buyer_id:
        findings.fault(f"order {order_id} was promised to another buyer than it is stored for")
    if order.parked:
        findings.doubt(f"order {order_id} is parked and waits for a person")
    elif order.status not in FINAL:
        findings.doubt(f"order {order_id} is still {order.status}", order_id)
    elif order.status is Status.SUPERSEDED:
        # What its buyer was told since is about the order that stands for the key.
        return
    elif claim.order_ids[-1] == order_id and _contradicts(claim.last_status, order.status):
        findings.fault(f"order {order_id} was told to be {claim.last_status} and is {order.status}", order_id)


def _contradicts(told: str | None, stored: Status) -> bool:
    if told not in FINAL:
        return False
    seen = Status(told)
    return stored not in _AFTER.get(seen, {seen})


def check_one_order_a_key(facts: Facts) -> Verdict:
    """I3: a key has at most one order that was ever held, and two bodies never share an answer."""
    findings = Findings()
    by_digest: dict[str, list[OrderFact]] = defaultdict(list)
    for order in facts.orders.values():
        by_digest[order.order_id.partition("-")[2]].append(order)
    for orders in by_digest.values():
        _check_one_held(findings, "a key (by its digest)", orders)
    if facts.receipts is None:
        return _only_faults(findings, "I3", f"comparing the digests of {len(facts.orders):,} orders")
    by_key, bodies = _group_claims(facts.receipts.claims)
    for order_ids in by_key.values():
        _check_one_held(findings, "a key", [facts.orders[one] for one in order_ids if one in facts.orders])
    for order_id, sums in bodies.items():
        if len(sums) > 1:
            findings.fault(f"order {order_id} was the answer to {len(sums)} different bodies")
    return findings.verdict("I3", f"{len(by_key):,} idempotency keys in the receipts and the digests of stored ids")


def _check_one_held(findings: Findings, what: str, orders: list[OrderFact]) -> None:
    held = sorted(order.order_id for order in orders if order.held_at_ms is not None)
    if len(held) > 1:
        findings.fault(f"{what} has {len(held)} orders that were held: {', '.join(held)}")


def _group_claims(claims: tuple[Claim, ...]) -> tuple[dict[tuple[str, str], set[str]], dict[str, set[str]]]:
    by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
    bodies: dict[str, set[str]] = defaultdict(set)
    for claim in claims:
        by_key[claim.buyer_id, claim.key].update(claim.order_ids)
        for order_id in claim.order_ids:
            bodies[order_id].add(claim.body_sha256)
    return by_key, bodies


def duplicate_orders(facts: Facts) -> int:
    """Count the orders beyond the first that one key and body brought about, superseded ones aside."""
    if facts.receipts is None:
        return 0
    by_key, _ = _group_claims(facts.receipts.claims)
    stands = [sum(1 for one in ids if not _superseded(facts, one)) for ids in by_key.values()]
    return sum(count - 1 for count in stands if count > 1)


def check_repeats(facts: Facts) -> Verdict:
    """I5: redelivering changes nothing."""
    if facts.receipts is None:
        return unchecked("I5", NEEDS_RECEIPTS)
    findings = Findings()
    repeated = [claim for claim in facts.receipts.claims if claim.asked_again]
    for claim in repeated:
        counting = [one for one in claim.order_ids if not _superseded(facts, one)]
        if len(counting) > 1:
            findings.fault(f"one request, sent again, was answered with {len(counting)} different orders")
    if not repeated:
        return unchecked("I5", "No request in the receipts was sent twice.")
    if facts.intents is not None:
        for order_id, intents in facts.intents.items():
            if sum(1 for one in intents if one.captured_minor > 0) > 1:
                findings.fault(f"order {order_id} was paid on {len(intents)} intents")
    times = sum(claim.asked_again for claim in repeated)
    return findings.verdict("I5", f"{times:,} repeated requests of {len(repeated):,} keys and one intent an order")


def _superseded(facts: Facts, order_id: str) -> bool:
    """Say whether another order stands for the key: reading this one leads there."""
    order = facts.orders.get(order_id)
    return order is not None and order.status is Status.SUPERSEDED


def _only_faults(findings: Findings, invariant: str, checked_by: str) -> Verdict:
    verdict = findings.verdict(invariant, checked_by)
    return verdict if verdict.truth is Truth.FALSE else unchecked(invariant, NEEDS_RECEIPTS)
