"""Every knob, turned all the way: what the caller sees, and what the books say."""

from __future__ import annotations

import urllib.error
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import stripe

from infra.local.payment_service.faults import Dice, Faults
from tests.integration.payment_service.service import control


def _pay(api: stripe.StripeClient, intent_id: str, key: str) -> stripe.PaymentIntent:
    return api.v1.payment_intents.confirm(intent_id, {"payment_method": "pm_card_visa"}, {"idempotency_key": key})


@pytest.fixture
def intent_id(api: stripe.StripeClient) -> str:
    """An open intent."""
    return api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}).id


@pytest.fixture
def turn(url: str) -> Callable[..., dict[str, Any]]:
    """Turn knobs."""

    def turned(**knobs: float) -> dict[str, Any]:
        return control(url, "faults", knobs)

    return turned


def test_an_error_before_leaves_nothing_behind(
    api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]
) -> None:
    """500 before the work: the intent is open, and the same key goes through afterwards."""
    turn(error_before=1)
    with pytest.raises(stripe.APIError) as failed:
        _pay(api, intent_id, f"{intent_id}/1")
    assert failed.value.http_status == 500

    turn(error_before=0)
    assert api.v1.payment_intents.retrieve(intent_id).status == "requires_payment_method"
    assert _pay(api, intent_id, f"{intent_id}/1").status == "succeeded"


def test_an_error_after_is_kept_though_the_money_was_taken(
    api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]
) -> None:
    """P11: 500 after the work: the intent succeeded, and the key keeps answering 500 as Stripe's does."""
    turn(error_after=1)
    with pytest.raises(stripe.APIError):
        _pay(api, intent_id, f"{intent_id}/1")
    turn(error_after=0)
    with pytest.raises(stripe.APIError) as kept:
        _pay(api, intent_id, f"{intent_id}/1")

    assert kept.value.http_status == 500
    assert api.v1.payment_intents.retrieve(intent_id).status == "succeeded"


def test_a_kept_error_blocks_its_key_only(
    api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]
) -> None:
    """A 500 that was kept without any work stays under its key; another key pays."""
    turn(error_kept=1)
    with pytest.raises(stripe.APIError):
        _pay(api, intent_id, f"{intent_id}/1")
    turn(error_kept=0)
    with pytest.raises(stripe.APIError):
        _pay(api, intent_id, f"{intent_id}/1")

    assert api.v1.payment_intents.retrieve(intent_id).status == "requires_payment_method"
    assert _pay(api, intent_id, f"{intent_id}/2").status == "succeeded"


def test_a_connection_dropped_after_the_work_is_met_by_the_same_key(
    api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]
) -> None:
    """P11: no answer after charging: the repeat under the same key is told of the one success."""
    turn(drop_after=1)
    with pytest.raises(stripe.APIConnectionError):
        _pay(api, intent_id, f"{intent_id}/1")
    turn(drop_after=0)

    assert _pay(api, intent_id, f"{intent_id}/1").status == "succeeded"
    assert len(api.v1.charges.list({"payment_intent": intent_id}).data) == 1


def test_a_connection_dropped_before_leaves_nothing_behind(
    api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]
) -> None:
    """No answer and no work."""
    turn(drop_before=1)
    with pytest.raises(stripe.APIConnectionError):
        _pay(api, intent_id, f"{intent_id}/1")
    turn(drop_before=0)

    assert api.v1.payment_intents.retrieve(intent_id).latest_charge is None


def test_a_limited_rate_is_told(api: stripe.StripeClient, turn: Callable[..., object]) -> None:
    """429 is the library's rate limit error."""
    turn(rate_limited=1)
    with pytest.raises(stripe.RateLimitError):
        api.v1.payment_intents.list()


def test_every_card_can_be_declined(api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]) -> None:
    """With the decline rate at one, a good card is declined."""
    turn(decline=1)
    with pytest.raises(stripe.CardError):
        _pay(api, intent_id, f"{intent_id}/1")
    turn(decline=0)
    assert _pay(api, intent_id, f"{intent_id}/2").status == "succeeded"


def test_a_request_carried_out_twice_needs_its_key(
    api: stripe.StripeClient, url: str, turn: Callable[..., object]
) -> None:
    """Repeated by a proxy, a request with a key has one effect."""
    order, key = str(uuid.uuid4()), str(uuid.uuid4())
    turn(answer_twice=1)
    params: Any = {"amount": 2000, "currency": "eur", "metadata": {"onsale_order": order}}
    told = api.v1.payment_intents.create(params, {"idempotency_key": key})
    assert _made(url, order) == [told.id]

    turn(forget_key=1)
    api.v1.payment_intents.create(params, {"idempotency_key": key})
    assert len(_made(url, order)) == 2


def test_forgotten_keys_are_new_keys(api: stripe.StripeClient, url: str) -> None:
    """After a day, or on demand, a key is forgotten and a second intent is made under it."""
    key = str(uuid.uuid4())
    params: Any = {"amount": 2000, "currency": "eur"}
    first = api.v1.payment_intents.create(params, {"idempotency_key": key}).id
    assert api.v1.payment_intents.create(params, {"idempotency_key": key}).id == first
    assert control(url, "forget-keys", {})["forgotten"] >= 1

    assert api.v1.payment_intents.create(params, {"idempotency_key": key}).id != first


def test_latency_is_waited_out(api: stripe.StripeClient, intent_id: str, turn: Callable[..., object]) -> None:
    """Delays before and after the work change nothing but the time."""
    turn(latency_s=0.01, latency_random_s=0.01, answer_delay_s=0.01)
    assert _pay(api, intent_id, f"{intent_id}/1").status == "succeeded"


@pytest.mark.parametrize("knobs", [{"decline": 1.5}, {"decline": -1}, {"decline": "often"}, {"surprise": 1}])
def test_a_knob_that_cannot_be_turned_is_named(url: str, knobs: dict[str, Any]) -> None:
    """A wrong knob or value is refused, and no knob is turned."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        control(url, "faults", knobs)

    assert refused.value.code == 400
    assert next(iter(knobs)) in refused.value.read().decode()
    assert control(url, "faults") == Faults().as_dict()


def test_the_dice_repeat_with_their_seed() -> None:
    """Draws depend on seed, fault and subject, not on the order in which subjects come."""
    one, two, other = Dice(1), Dice(1), Dice(2)
    subjects = [f"order-{number}" for number in range(200)]
    drawn = {subject: one.draw("decline", subject) for subject in subjects}

    assert {subject: two.draw("decline", subject) for subject in reversed(subjects)} == drawn
    assert {subject: other.draw("decline", subject) for subject in subjects} != drawn
    assert one.draw("decline", subjects[0]) != drawn[subjects[0]]
    assert 60 < sum(draw < 0.5 for draw in drawn.values()) < 140


def _made(url: str, order: str) -> list[str]:
    rows = control(url, "books/orders?limit=1000")["orders"]
    return [row["payment_intent"] for row in rows if row["order_id"] == order]
