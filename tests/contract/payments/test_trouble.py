"""The gateway when things go wrong: what the local payment service can be told to do, and localstripe cannot."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.errors import AnswerLost, Broken, Contended, Invalid, Throttled, Unavailable
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.payments.stripe_gateway import INVALID_METHOD, KEYS_KEPT_MS, StripeGateway
from shared.ports.payment import Intent, IntentStatus
from tests.contract.payments.conftest import EUR_20, TAGS, make_gateway
from tests.fakes.system import FakeClock
from tests.integration.payment_service.service import API_KEY, client, control

GOOD, BAD = "pm_card_visa", "pm_card_visa_chargeDeclined"


def _orders(url: str, key: OrderKey) -> list[dict[str, object]]:
    page = control(url, "books/orders")
    rows = page["orders"]
    while page["next"] is not None:
        page = control(url, f"books/orders?after={page['next']}")
        rows += page["orders"]
    return [row for row in rows if row["order_id"] == key.order_id and row["metadata"]["onsale_event"] == key.event_id]


def test_opening_again_gives_the_intent_as_it_is_now(gateway: StripeGateway, url: str, key: OrderKey) -> None:
    """A repeated opening meets the one intent, and tells its present state, not the stored answer's."""
    intent = gateway.open_intent(key, EUR_20)
    gateway.pay(intent, key=key, attempt=1, method=GOOD)

    assert gateway.open_intent(key, EUR_20).status is IntentStatus.SUCCEEDED
    assert len(_orders(url, key)) == 1


def test_a_stale_try_is_told_what_became_of_the_intent(gateway: StripeGateway, key: OrderKey) -> None:
    """P3: repeating a declined try after a later one succeeded tells of the success."""
    intent = gateway.open_intent(key, EUR_20)
    assert gateway.pay(intent, key=key, attempt=1, method=BAD).decline_code == "generic_decline"
    gateway.pay(intent, key=key, attempt=2, method=GOOD)

    assert gateway.pay(intent, key=key, attempt=1, method=BAD).status is IntentStatus.SUCCEEDED


def test_an_unknown_payment_method_is_a_decline(gateway: StripeGateway, key: OrderKey) -> None:
    """A payment method that does not exist is the buyer's mistake, not ours."""
    intent = gateway.open_intent(key, EUR_20)
    told = gateway.pay(intent, key=key, attempt=1, method="pm_no_such_thing")

    assert (told.status, told.decline_code) == (IntentStatus.OPEN, INVALID_METHOD)


def test_processing_cannot_be_closed(gateway: StripeGateway, key: OrderKey) -> None:
    """Closing an intent whose money is on its way tells that it is processing."""
    intent = gateway.open_intent(key, EUR_20)
    assert gateway.pay(intent, key=key, attempt=1, method="pm_processing").status is IntentStatus.PROCESSING
    assert gateway.close_intent(intent).status is IntentStatus.PROCESSING


def test_a_paid_intent_cannot_be_closed_nor_a_closed_one_paid(gateway: StripeGateway, key: OrderKey) -> None:
    """S6: whichever came first stands, and both calls tell it."""
    paid = gateway.pay(gateway.open_intent(key, EUR_20), key=key, attempt=1, method=GOOD)
    other = OrderKey(key.event_id, 1, "2-" + key.order_id[2:])
    closed = gateway.close_intent(gateway.open_intent(other, EUR_20))

    assert gateway.close_intent(paid).status is IntentStatus.SUCCEEDED
    assert gateway.pay(closed, key=other, attempt=1, method=GOOD).status is IntentStatus.CLOSED
    assert gateway.close_intent(closed).status is IntentStatus.CLOSED


@pytest.mark.parametrize(
    ("knob", "error"),
    [
        ("error_before", AnswerLost),
        ("error_after", AnswerLost),
        ("drop_before", AnswerLost),
        ("drop_after", AnswerLost),
        ("rate_limited", Throttled),
    ],
)
def test_a_lost_answer_costs_nothing(
    gateway: StripeGateway, url: str, key: OrderKey, knob: str, error: type[Unavailable]
) -> None:
    """P11: after an error or a dropped connection the very same calls end with one intent, captured once."""
    control(url, "faults", {knob: 1})
    with pytest.raises(error):
        gateway.open_intent(key, EUR_20)
    control(url, "faults", {knob: 0})
    intent = gateway.open_intent(key, EUR_20)
    control(url, "faults", {knob: 1})
    with pytest.raises(error):
        gateway.pay(intent, key=key, attempt=1, method=GOOD)
    control(url, "faults", {knob: 0})

    assert gateway.pay(intent, key=key, attempt=1, method=GOOD).captured_minor == 2_000
    assert [(row["captures"], row["captured_minor"]) for row in _orders(url, key)] == [(1, 2_000)]


def test_a_lost_refund_is_not_carried_out_twice(gateway: StripeGateway, url: str, key: OrderKey) -> None:
    """A refund whose answer was lost is met again by the repeat."""
    intent = gateway.pay(gateway.open_intent(key, EUR_20), key=key, attempt=1, method=GOOD)
    for knob in ("error_after", "drop_after", "answer_twice"):
        control(url, "faults", {knob: 1})
        try:
            gateway.refund(intent, key=key, total_minor=500)
        except AnswerLost:
            control(url, "faults", {knob: 0})
        assert gateway.refund(intent, key=key, total_minor=500).refunded_minor == 500
        control(url, "faults", {knob: 0})

    assert [(row["refunds"], row["refunded_minor"]) for row in _orders(url, key)] == [(1, 500)]


def test_a_try_that_the_service_lost_is_not_taken_for_a_decline(
    gateway: StripeGateway, url: str, key: OrderKey
) -> None:
    """A kept failure without any work stays unavailable under its attempt; the next attempt pays."""
    intent = gateway.open_intent(key, EUR_20)
    control(url, "faults", {"error_kept": 1})
    with pytest.raises(AnswerLost):
        gateway.pay(intent, key=key, attempt=1, method=GOOD)
    control(url, "faults", {"error_kept": 0})
    with pytest.raises(Unavailable):
        gateway.pay(intent, key=key, attempt=1, method=GOOD)

    assert gateway.pay(intent, key=key, attempt=2, method=GOOD).status is IntentStatus.SUCCEEDED


def test_after_a_day_the_tag_is_looked_for_before_anything_is_created(url: str, key: OrderKey) -> None:
    """Once the keys are forgotten, opening an old order's intent finds the first one; a new order asks directly."""
    clock = FakeClock(at_ms=KEYS_KEPT_MS + 10_000)
    gateway = make_gateway(url, clock=clock)
    first = gateway.open_intent(key, EUR_20)
    control(url, "forget-keys", {})

    assert gateway.open_intent(key, EUR_20, since_ms=9_999).intent_id == first.intent_id
    assert len(_orders(url, key)) == 1
    gateway.open_intent(key, EUR_20, since_ms=clock.now_ms())
    assert len(_orders(url, key)) == 2
    assert gateway.open_intent(key, EUR_20, since_ms=0).intent_id == first.intent_id


def test_the_intent_that_took_money_is_preferred(url: str, key: OrderKey) -> None:
    """Among several intents of one order, the one that took money is the order's."""
    gateway = make_gateway(url, clock=FakeClock(at_ms=KEYS_KEPT_MS + 10_000))
    gateway.close_intent(gateway.open_intent(key, EUR_20))
    control(url, "forget-keys", {})
    paid = gateway.pay(gateway.open_intent(key, EUR_20), key=key, attempt=1, method=GOOD)

    assert gateway.open_intent(key, EUR_20, since_ms=0) == paid


def test_other_parameters_find_the_first_intent(gateway: StripeGateway, key: OrderKey) -> None:
    """When the key was used with other parameters, the intent that it made is found by its tag."""
    first = gateway.open_intent(key, EUR_20)

    assert gateway.open_intent(key, Money(2_100, "EUR")).intent_id == first.intent_id


def test_twenty_workers_pay_once(url: str, key: OrderKey) -> None:
    """P2: twenty at once open one intent and capture once; who meets another at work is told to come back."""
    barrier = threading.Barrier(20)

    def work(_: int) -> Intent | None:
        gateway = make_gateway(url)
        barrier.wait()
        try:
            return gateway.pay(gateway.open_intent(key, EUR_20), key=key, attempt=1, method=GOOD)
        except Contended:
            return None

    with ThreadPoolExecutor(20) as pool:
        told = [intent for intent in pool.map(work, range(20)) if intent is not None]

    assert {intent.status for intent in told} == {IntentStatus.SUCCEEDED}
    assert [(row["captures"], row["captured_minor"]) for row in _orders(url, key)] == [(1, 2_000)]


def test_refunds_to_different_totals_at_once_never_add_up(url: str, key: OrderKey) -> None:
    """Workers that bring the refund to different totals at once end at the highest of them."""
    gateway = make_gateway(url)
    intent = gateway.pay(gateway.open_intent(key, EUR_20), key=key, attempt=1, method=GOOD)
    totals = [500, 900, 1_500] * 4
    barrier = threading.Barrier(len(totals))

    def work(total: int) -> None:
        own = make_gateway(url)
        barrier.wait()
        for _ in range(50):
            try:
                own.refund(intent, key=key, total_minor=total)
            except Contended:
                continue
            return

    with ThreadPoolExecutor(len(totals)) as pool:
        list(pool.map(work, totals))

    assert gateway.fetch(intent.intent_id).refunded_minor == 1_500


def test_foreign_intents_are_listed_as_nobody_s(gateway: StripeGateway, url: str, key: OrderKey) -> None:
    """An intent without our tag, with another's, or with one that was copied to another order has no order key."""
    api = client(url)
    metadata = TAGS.metadata(key)
    forged = [{}, {**metadata, "onsale_order": "1-" + "0" * 32}, {**metadata, "onsale_env": "prod", "onsale_tag": "x"}]
    ids = [api.v1.payment_intents.create({"amount": 2_001, "currency": "eur", "metadata": tags}).id for tags in forged]

    listed = {intent.intent_id: intent.order_key for intent in gateway.list_intents(cursor=None, limit=100).intents}

    assert [listed[intent_id] for intent_id in ids] == [None, None, None]
    with pytest.raises(Broken):
        gateway.close_intent(gateway.fetch(ids[0]))


def test_what_cannot_be_charged_never_reaches_the_service(gateway: StripeGateway, url: str, key: OrderKey) -> None:
    """R7: an amount without an exact counterpart is refused before any call."""
    with pytest.raises(Invalid):
        gateway.open_intent(key, Money(1_005, "KWD"))
    assert _orders(url, key) == []


def test_a_silent_service_is_unavailable(key: OrderKey) -> None:
    """Nobody listening is unavailable, for reads and writes."""
    gateway = make_gateway("http://127.0.0.1:9")
    with pytest.raises(AnswerLost):
        gateway.open_intent(key, EUR_20)
    with pytest.raises(Unavailable):
        gateway.list_intents(cursor=None, limit=1)


def test_a_slow_service_is_not_waited_for(url: str, key: OrderKey) -> None:
    """An answer that takes longer than the time limit counts as lost, and the repeat finds its work."""
    control(url, "faults", {"answer_delay_s": 3})
    with pytest.raises(AnswerLost):
        make_gateway(url, timeout_s=0.1).open_intent(key, EUR_20)
    control(url, "faults", {"answer_delay_s": 0})
    gateway = make_gateway(url)
    for _ in range(10_000):
        try:
            gateway.open_intent(key, EUR_20)
        except Contended:
            continue
        break

    assert len(_orders(url, key)) == 1


def test_a_refused_key_is_unavailable_and_says_what_to_do(url: str) -> None:
    """A key that the service does not accept parks no order, and names the setting."""
    with pytest.raises(Unavailable, match="ONSALE_PAYMENT_KEY"):
        make_gateway(url, key="sk_test_wrong").list_intents(cursor=None, limit=1)


def test_no_secret_is_logged(url: str, key: OrderKey, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the API key nor a client secret shows up in any log, even at DEBUG."""
    with caplog.at_level(logging.DEBUG):
        intent = make_gateway(url).open_intent(key, EUR_20)

    assert intent.client_secret
    assert intent.client_secret not in caplog.text
    assert API_KEY not in caplog.text
