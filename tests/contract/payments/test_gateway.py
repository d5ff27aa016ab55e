"""What the gateway promises, over each payment service."""

from __future__ import annotations

import pytest

from shared.domain.errors import Broken, NotFound
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.ports.payment import IntentStatus, PaymentGateway
from tests.contract.payments.conftest import EUR_20, Peer


def test_an_intent_is_opened_unpaid_and_ours(peer: Peer, key: OrderKey) -> None:
    """An opened intent carries the order, its amount and the client secret, and takes no money."""
    gateway: PaymentGateway = peer.gateway
    intent = gateway.open_intent(key, EUR_20)

    assert intent.status is IntentStatus.OPEN
    assert (intent.amount, intent.captured_minor, intent.refunded_minor) == (EUR_20, 0, 0)
    assert intent.order_key == key
    assert intent.client_secret
    assert intent.client_secret not in repr(intent)
    assert gateway.fetch(intent.intent_id) == intent


def test_a_good_card_pays_once(peer: Peer, key: OrderKey) -> None:
    """A paid intent says what was captured, and cannot be closed any more."""
    intent = peer.gateway.open_intent(key, EUR_20)

    paid = peer.gateway.pay(intent, key=key, attempt=1, method=peer.good_card)

    assert (paid.status, paid.captured_minor, paid.decline_code) == (IntentStatus.SUCCEEDED, 2_000, None)
    assert peer.gateway.fetch(intent.intent_id) == paid


def test_a_declined_card_leaves_the_intent_open(peer: Peer, key: OrderKey) -> None:
    """P9: a decline is an open intent with its code, and another card pays the same intent."""
    intent = peer.gateway.open_intent(key, EUR_20)

    declined = peer.gateway.pay(intent, key=key, attempt=1, method=peer.bad_card)

    assert declined.status is IntentStatus.OPEN
    assert declined.decline_code
    assert declined.captured_minor == 0


def test_a_closed_intent_stays_closed(peer: Peer, key: OrderKey) -> None:
    """An intent that was closed says so."""
    closed = peer.gateway.close_intent(peer.gateway.open_intent(key, EUR_20))

    assert closed.status is IntentStatus.CLOSED
    assert peer.gateway.fetch(closed.intent_id).status is IntentStatus.CLOSED


def test_refunds_come_up_to_a_total(peer: Peer, key: OrderKey) -> None:
    """P10: refunds bring the total up, repeat without effect, and stop at what was captured."""
    intent = peer.gateway.pay(peer.gateway.open_intent(key, EUR_20), key=key, attempt=1, method=peer.good_card)

    refunded = [
        peer.gateway.refund(intent, key=key, total_minor=total).refunded_minor
        for total in (1_900, 1_900, 500, 2_500, 2_500)
    ]

    assert refunded == [1_900, 1_900, 1_900, 2_000, 2_000]


@pytest.mark.parametrize(
    ("amount", "part_minor"),
    [(Money(80, "JPY"), 30), (Money(18_600, "KWD"), 5_010), (Money(1_999, "EUR"), 1), (Money(5_000, "ISK"), 1_234)],
    ids=str,
)
def test_r7_amounts_are_exact_there_and_back(peer: Peer, key: OrderKey, amount: Money, part_minor: int) -> None:
    """ISO minor units go in and come out, whatever the service counts in: charged, paid back in part, then whole."""
    paid = peer.gateway.pay(peer.gateway.open_intent(key, amount), key=key, attempt=1, method=peer.good_card)
    part = peer.gateway.refund(paid, key=key, total_minor=part_minor)
    whole = peer.gateway.refund(paid, key=key, total_minor=amount.minor)

    assert (paid.amount, paid.captured_minor) == (amount, amount.minor)
    assert (part.refunded_minor, whole.refunded_minor) == (part_minor, amount.minor)


def test_everything_can_be_listed_page_by_page(peer: Peer) -> None:
    """Pages meet each intent once and come to an end."""
    keys = {OrderKey("listed", shard, f"1-{shard:032x}") for shard in range(5)}
    for key in keys:
        peer.gateway.open_intent(key, EUR_20)

    listed, cursor = [], None
    for _ in range(100):
        page = peer.gateway.list_intents(cursor=cursor, limit=2)
        listed += [intent.order_key for intent in page.intents]
        cursor = page.cursor
        if cursor is None:
            break

    assert cursor is None
    assert {key for key in listed if key is not None and key.event_id == "listed"} == keys
    assert len([key for key in listed if key in keys]) == len(keys)


def test_an_unknown_intent_is_not_found(peer: Peer) -> None:
    """An id that the payment service does not know is NotFound."""
    with pytest.raises(NotFound):
        peer.gateway.fetch("pi_unknown")


def test_an_intent_of_somebody_else_is_never_touched(peer: Peer, key: OrderKey) -> None:
    """Paying, closing or refunding an intent for another order, or for none, is refused before any call."""
    intent = peer.gateway.open_intent(key, EUR_20)
    other = OrderKey(key.event_id, key.shard, "1-" + "f" * 32)

    with pytest.raises(Broken):
        peer.gateway.pay(intent, key=other, attempt=1, method=peer.good_card)
    with pytest.raises(Broken):
        peer.gateway.refund(intent, key=other, total_minor=1)
    assert peer.gateway.fetch(intent.intent_id).status is IntentStatus.OPEN


@pytest.mark.parametrize(
    "amount", [Money(80, "JPY"), Money(18_600, "KWD"), Money(5_000, "ISK"), Money(20_000, "UGX"), Money(1_999, "EUR")]
)
def test_amounts_come_back_as_they_were(peer: Peer, key: OrderKey, amount: Money) -> None:
    """R7: whatever the provider's units, our minor units go in and come out, captures and refunds included."""
    paid = peer.gateway.pay(peer.gateway.open_intent(key, amount), key=key, attempt=1, method=peer.good_card)
    part = 10 if amount.currency == "KWD" else 1

    assert (paid.amount, paid.captured_minor) == (amount, amount.minor)
    assert peer.gateway.refund(paid, key=key, total_minor=part).refunded_minor == part
