"""From settings to the payment service."""

from __future__ import annotations

import pytest

from infra.local.payment_service.signatures import signature_header
from shared.domain.errors import Invalid
from shared.payments.connect import connect_gateway, connect_webhooks
from shared.settings import read_settings
from tests.fakes.system import FakeClock

WHOLE = {
    "ONSALE_PAYMENT_KEY": "sk_test_1",
    "ONSALE_TAG_SECRET": "tag",
    "ONSALE_WEBHOOK_SECRETS": "whsec_1,whsec_2",
}


@pytest.mark.parametrize("missing", ["ONSALE_PAYMENT_KEY", "ONSALE_TAG_SECRET"])
def test_a_missing_secret_is_named(missing: str) -> None:
    """Without a key or the tag's secret nothing is connected, and the variable is named."""
    settings = read_settings({name: value for name, value in WHOLE.items() if name != missing})

    for connect in (lambda: connect_gateway(settings, FakeClock()), lambda: connect_webhooks(settings)):
        with pytest.raises(Invalid, match=missing):
            connect()


def test_webhooks_need_a_secret() -> None:
    """Without a webhook secret no webhook is read."""
    settings = read_settings({**WHOLE, "ONSALE_WEBHOOK_SECRETS": ""})
    with pytest.raises(Invalid, match="ONSALE_WEBHOOK_SECRETS"):
        connect_webhooks(settings)


@pytest.mark.parametrize(("key", "live"), [("sk_test_1", False), ("sk_live_1", True), ("rk_live_1", True)])
def test_the_key_decides_the_mode(key: str, live: bool) -> None:
    """A live key takes live webhooks, a test key takes test ones."""
    webhooks = connect_webhooks(read_settings({**WHOLE, "ONSALE_PAYMENT_KEY": key}))
    for livemode in (True, False):
        payload = f'{{"id": "evt", "type": "t", "created": 1, "livemode": {str(livemode).lower()}}}'
        signed = payload.encode(), signature_header(payload, ["whsec_2"], 2**33)
        if livemode is live:
            assert webhooks.read(*signed).kind == "t"
        else:
            with pytest.raises(Invalid):
                webhooks.read(*signed)
