"""From settings to the payment service and the reader of its webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Invalid
from shared.payments.stripe_gateway import StripeGateway
from shared.payments.tags import Tags
from shared.payments.webhooks import Webhooks

if TYPE_CHECKING:
    from pydantic import SecretStr

    from shared.ports.system import Clock
    from shared.settings import Settings

LIVE_KEYS = ("sk_live_", "rk_live_")


def connect_gateway(settings: Settings, clock: Clock) -> StripeGateway:
    """Return the gateway that the settings describe; Invalid naming the variable that is missing."""
    return StripeGateway(
        _secret(settings.payment_key, "ONSALE_PAYMENT_KEY"),
        tags=_tags(settings),
        environment=settings.env,
        clock=clock,
        timeout_s=settings.payment_timeout_s,
        base_url=settings.payment_url,
    )


def connect_webhooks(settings: Settings) -> Webhooks:
    """Return the reader of webhooks; Invalid naming the variable that is missing."""
    if not settings.webhook_secrets:
        raise Invalid("Set ONSALE_WEBHOOK_SECRETS to the secret that signs webhooks.", field="ONSALE_WEBHOOK_SECRETS")
    secrets = tuple(secret.get_secret_value() for secret in settings.webhook_secrets)
    return Webhooks(secrets, tags=_tags(settings), live=_is_live(settings))


def _is_live(settings: Settings) -> bool:
    """Say whether money is real here: as the settings say, so that the door need not know the key, or as it shows."""
    if settings.payment_mode is not None:
        return settings.payment_mode == "live"
    return _secret(settings.payment_key, "ONSALE_PAYMENT_KEY").startswith(LIVE_KEYS)


def _tags(settings: Settings) -> Tags:
    return Tags(_secret(settings.tag_secret, "ONSALE_TAG_SECRET").encode(), settings.env)


def _secret(value: SecretStr | None, name: str) -> str:
    if value is None or not value.get_secret_value():
        raise Invalid(f"Set {name}; without it nothing can be paid.", field=name)
    return value.get_secret_value()
