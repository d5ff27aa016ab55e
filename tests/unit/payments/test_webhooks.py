"""Webhooks are verified, and read no further than they must be."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.local.payment_service.signatures import signature_header
from shared.domain.errors import Invalid
from shared.domain.order_id import OrderKey
from shared.payments.tags import Tags
from shared.payments.webhooks import TOLERANCE_S, Webhooks

KEY = OrderKey("gig", 3, "1-" + "a" * 32)
TAGS = Tags(b"secret", "test")
WEBHOOKS = Webhooks(("whsec_new", "whsec_old"), tags=TAGS, live=False)


def _event(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON takes them
    intent = {"object": "payment_intent", "id": "pi_1", "metadata": TAGS.metadata(KEY)}
    event = {"id": "evt_1", "type": "payment_intent.succeeded", "created": 1_700_000_000, "livemode": False}
    return event | {"data": {"object": intent}} | changes


def _signed(event: object, *, secret: str = "whsec_new", age_s: int = 0) -> tuple[bytes, str]:
    payload = event if isinstance(event, str) else json.dumps(event)
    return payload.encode(), signature_header(payload, [secret], int(time.time()) - age_s)


@pytest.mark.parametrize("secret", ["whsec_new", "whsec_old"])
def test_a_signed_webhook_names_its_order(secret: str) -> None:
    """While secrets are rotated, either of them signs."""
    notice = WEBHOOKS.read(*_signed(_event(), secret=secret))

    assert (notice.kind, notice.intent_id, notice.order_key) == ("payment_intent.succeeded", "pi_1", KEY)
    assert notice.created_at_ms == 1_700_000_000_000


@pytest.mark.parametrize(
    ("kind", "about"),
    [
        ("charge.refunded", {"object": "charge", "id": "ch_1", "payment_intent": "pi_1"}),
        ("refund.created", {"object": "refund", "id": "re_1", "payment_intent": {"id": "pi_1"}}),
    ],
)
def test_charges_and_refunds_name_their_intent(kind: str, about: dict[str, Any]) -> None:
    """Events about charges and refunds lead to the intent, whether it is an id or an object."""
    about["metadata"] = TAGS.metadata(KEY)
    notice = WEBHOOKS.read(*_signed(_event(type=kind, data={"object": about})))

    assert (notice.intent_id, notice.order_key) == ("pi_1", KEY)


@pytest.mark.parametrize("data", [None, {}, {"object": None}, {"object": {"id": 5}}, [], "text"])
def test_unknown_events_are_read_as_nobody_s(data: object) -> None:
    """P8: an event of a type or shape that is new to us is no error, and names no order."""
    notice = WEBHOOKS.read(*_signed(_event(type="something.new", data=data, extra={"a": [1]})))

    assert (notice.kind, notice.intent_id, notice.order_key) == ("something.new", None, None)


def test_an_intent_without_our_tag_is_foreign() -> None:
    """An event about somebody else's intent names the intent and no order."""
    intent = {"object": "payment_intent", "id": "pi_2", "metadata": {**TAGS.metadata(KEY), "onsale_tag": "no"}}
    notice = WEBHOOKS.read(*_signed(_event(data={"object": intent})))

    assert (notice.intent_id, notice.order_key) == ("pi_2", None)


@pytest.mark.parametrize(
    ("event", "how", "reason"),
    [
        (_event(), {"secret": "whsec_stolen"}, "webhook-signature"),
        (_event(), {"age_s": TOLERANCE_S + 5}, "webhook-signature"),
        (_event(livemode=True), {}, "webhook-mode"),
        ({}, {}, "webhook-mode"),
        (_event(id=None), {}, "webhook-body"),
        ("[]", {}, "webhook-body"),
        ("no JSON", {}, "webhook-body"),
    ],
)
def test_what_is_not_to_be_believed_is_refused(event: object, how: dict[str, Any], reason: str) -> None:
    """A wrong secret, an old signature, the other mode or no event at all is refused with a reason."""
    signed = _signed(event, **how)
    with pytest.raises(Invalid) as refused:
        WEBHOOKS.read(*signed)

    assert refused.value.reason == reason


def test_a_changed_body_is_refused() -> None:
    """One byte more or less breaks the signature."""
    payload, signature = _signed(_event())
    for changed in (payload + b" ", payload[:-1]):
        with pytest.raises(Invalid):
            WEBHOOKS.read(changed, signature)


@given(st.binary(max_size=50), st.none() | st.text(max_size=80))
def test_noise_is_refused_and_never_an_error(payload: bytes, signature: str | None) -> None:
    """I8: no body and no header makes the reader fail otherwise than by refusing."""
    with pytest.raises(Invalid):
        WEBHOOKS.read(payload, signature)


@given(st.text(max_size=60))
def test_noise_around_a_signature_is_refused_or_harmless(noise: str) -> None:
    """Whatever is appended to a good header, the answer is a refusal or the very event."""
    payload, signature = _signed(_event())
    try:
        assert WEBHOOKS.read(payload, signature + noise).order_key == KEY
    except Invalid as refused:
        assert refused.reason == "webhook-signature"  # noqa: PT017 - either outcome is right


def test_live_mode_takes_live_webhooks_only() -> None:
    """A live deployment refuses test events, and takes live ones."""
    live = Webhooks(("whsec_new",), tags=TAGS, live=True)
    assert live.read(*_signed(_event(livemode=True))).order_key == KEY
    with pytest.raises(Invalid):
        live.read(*_signed(_event()))
