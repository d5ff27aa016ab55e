"""What the service tells on its own: signed, repeated, lost, doubled, reordered."""

from __future__ import annotations

from typing import Any

import pytest
import stripe

from infra.local.payment_service.signatures import signature_header
from tests.integration.payment_service.service import SIGNING_SECRET, Delivered, Sink, control


def _paid(api: stripe.StripeClient) -> str:
    intent = api.v1.payment_intents.create({"amount": 2000, "currency": "eur", "metadata": {"order": "o-1"}})
    return api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"}).id


def _types(delivered: list[Delivered]) -> list[str]:
    return [one.event["type"] for one in delivered]


def test_events_are_signed_as_stripe_signs(api: stripe.StripeClient, sink: Sink) -> None:
    """The official library verifies what comes in, and refuses another secret or a changed body."""
    # The two are sent side by side: either may come first.
    created = next(one for one in sink.of(_paid(api), 2) if one.event["type"] == "payment_intent.created")

    event = stripe.Webhook.construct_event(created.payload, created.signature, SIGNING_SECRET)

    assert event.type == "payment_intent.created"
    assert event.livemode is False
    assert event.data.object["metadata"]["order"] == "o-1"
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(created.payload, created.signature, "whsec_other")
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(created.payload + b" ", created.signature, SIGNING_SECRET)


def test_while_a_secret_is_rolled_both_verify() -> None:
    """Two secrets give two signatures in one header."""
    header = signature_header("{}", ["whsec_old", "whsec_new"], 1_000)

    for secret in ("whsec_old", "whsec_new"):
        assert stripe.WebhookSignature.verify_header("{}", header, secret, tolerance=None)


def test_each_step_is_told(api: stripe.StripeClient, url: str, sink: Sink) -> None:
    """Creation, decline, processing, success, refund and cancellation each send their event."""
    intent = api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}).id
    with pytest.raises(stripe.CardError):
        api.v1.payment_intents.confirm(intent, {"payment_method": "pm_card_chargeDeclined"})
    api.v1.payment_intents.confirm(intent, {"payment_method": "pm_processing"})
    control(url, "settle", {"payment_intent": intent, "outcome": "succeeded"})
    api.v1.refunds.create({"payment_intent": intent, "amount": 500})
    closed = api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}).id
    api.v1.payment_intents.cancel(closed)

    assert sorted(_types(sink.of(intent, 6))) == [
        "charge.refunded",
        "payment_intent.created",
        "payment_intent.payment_failed",
        "payment_intent.processing",
        "payment_intent.succeeded",
        "refund.created",
    ]
    assert sorted(_types(sink.of(closed, 2))) == ["payment_intent.canceled", "payment_intent.created"]


def test_an_event_is_repeated_until_it_is_taken(api: stripe.StripeClient, sink: Sink) -> None:
    """P4: an endpoint that fails twice gets the same event a third time."""
    sink.meant_for = "o-repeated"
    for status in (500, 503):
        sink.statuses.put(status)
    metadata = {"order": sink.meant_for}
    intent = api.v1.payment_intents.create({"amount": 2000, "currency": "eur", "metadata": metadata}).id

    ids = {delivered.event["id"] for delivered in sink.of(intent, 3)}

    assert len(ids) == 1


def test_events_can_be_lost(api: stripe.StripeClient, url: str, sink: Sink) -> None:
    """P7: a lost event never comes, though the books and the event list have it."""
    control(url, "faults", {"webhook_lost": 1})
    lost = _paid(api)
    control(url, "faults", {"webhook_lost": 0})
    api.v1.refunds.create({"payment_intent": lost})

    assert sorted(_types(sink.of(lost, 2))) == ["charge.refunded", "refund.created"]
    told = [event.type for event in api.v1.events.list({"limit": 10}).data if event.data.object["id"] == lost]
    assert "payment_intent.succeeded" in told


def test_events_can_come_twice(api: stripe.StripeClient, url: str, sink: Sink) -> None:
    """P2: a doubled event comes twice with one id."""
    control(url, "faults", {"webhook_doubled": 1})
    intent = _paid(api)

    delivered = sink.of(intent, 4)

    assert sorted(_types(delivered)) == ["payment_intent.created"] * 2 + ["payment_intent.succeeded"] * 2
    assert len({one.event["id"] for one in delivered}) == 2


def test_events_can_come_late_and_in_another_order(api: stripe.StripeClient, url: str, sink: Sink) -> None:
    """P3: a reordered event comes after a later one of its intent."""
    control(url, "faults", {"webhook_reordered": 1, "webhook_reorder_wait_s": 3600})
    assert _types(sink.of(_paid(api), 2)) == ["payment_intent.succeeded", "payment_intent.created"]

    control(url, "faults", {"webhook_reordered": 0, "webhook_delayed": 1, "webhook_delay_max_s": 0.01})
    assert len(sink.of(_paid(api), 2)) == 2


def test_an_old_event_can_be_sent_again(api: stripe.StripeClient, url: str, sink: Sink) -> None:
    """P2: the same event twenty times more, as from the dashboard."""
    intent = _paid(api)
    event_id = sink.of(intent, 2)[1].event["id"]
    about: dict[str, Any] = control(url, "resend", {"event": event_id, "times": 20})

    assert about == {"sent": 20}
    assert [delivered.event["id"] for delivered in sink.of(intent, 20)] == [event_id] * 20
