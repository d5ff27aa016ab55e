"""I4: what was captured and not refunded is what each order owes, by the payment service's own books."""

from __future__ import annotations

from infra.verify.facts import Facts, IntentFact, OrderFact
from infra.verify.verdict import Findings, Verdict, unchecked
from shared.domain.order import FINAL, Reason, Status


def check_money(facts: Facts) -> Verdict:
    """I4: captured - refunded = owed; nothing captured twice; amounts and currencies are the order's."""
    if facts.intents is None:
        return unchecked("I4", "Needs the payment service's books, and none was named.")
    findings = Findings()
    for order_id, intents in facts.intents.items():
        if order_id not in facts.orders:
            _check_orphan(findings, order_id, intents)
    for order in facts.orders.values():
        _check_order(findings, facts, order, facts.intents.get(order.order_id, ()))
    count = sum(len(intents) for intents in facts.intents.values())
    return findings.verdict(
        "I4", f"the payment service's {count:,} intents against {len(facts.orders):,} stored orders"
    )


def _check_orphan(findings: Findings, order_id: str, intents: tuple[IntentFact, ...]) -> None:
    net = sum(intent.net_minor for intent in intents)
    if net != 0:
        findings.fault(f"{net} minor units were paid for order {order_id}, which is not stored", order_id)


def _check_order(findings: Findings, facts: Facts, order: OrderFact, intents: tuple[IntentFact, ...]) -> None:
    moving = order.order_id in facts.moving
    for sentence in _wrong_intents(order, intents):
        findings.judge(f"order {order.order_id}: {sentence}", order.order_id, moving=moving)
    net = sum(intent.net_minor for intent in intents)
    if net == order.owes_minor:
        return
    sentence = f"order {order.order_id} is {order.status}, owes {order.owes_minor} and has paid {net}"
    if order.money_under_way or order.status not in FINAL:
        # A hold's try, or a refund that is on its way: right, but not yet settled.
        if order.parked:
            findings.doubt(f"{sentence}; it is parked", order.order_id)
        return
    findings.judge(sentence, order.order_id, moving=moving)


def _wrong_intents(order: OrderFact, intents: tuple[IntentFact, ...]) -> list[str]:
    wrong = []
    captured = [intent for intent in intents if intent.captured_minor > 0]
    if len(captured) > 1:
        wrong.append(f"{len(captured)} intents were captured")
    for intent in intents:
        # What an orphan's payment was to be for is not known; all of it goes back.
        orphan = order.reason is Reason.ORPHANED
        if not orphan and (intent.amount_minor, intent.currency) != (order.amount_minor, order.currency):
            wrong.append(
                f"its intent asks for {intent.amount_minor} {intent.currency}, "
                f"not {order.amount_minor} {order.currency}"
            )
        if intent.captured_minor > intent.amount_minor:
            wrong.append(f"{intent.captured_minor} were captured of {intent.amount_minor}")
        if intent.refunded_minor > intent.captured_minor:
            wrong.append(f"{intent.refunded_minor} were refunded of {intent.captured_minor}")
    return wrong


def double_charged(facts: Facts) -> int:
    """Count the orders that were captured more than once, or beyond their amount."""
    if facts.intents is None:
        return 0
    return sum(
        1
        for intents in facts.intents.values()
        if sum(1 for intent in intents if intent.captured_minor) > 1
        or any(intent.captured_minor > intent.amount_minor for intent in intents)
    )


def unpaid_confirmed(facts: Facts) -> int:
    """Count the confirmed orders that have paid less than they owe."""
    if facts.intents is None:
        return 0
    return sum(
        1
        for order in facts.orders.values()
        if order.status is Status.CONFIRMED
        and sum(intent.net_minor for intent in facts.intents.get(order.order_id, ())) < order.owes_minor
    )
