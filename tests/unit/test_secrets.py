"""Secrets that stand elsewhere: an ARN is replaced by what it stands for, and only that."""

from __future__ import annotations

import boto3
import pytest
from aws_lambda_powertools.utilities.parameters import clear_caches
from moto import mock_aws
from pydantic import SecretStr

from shared.domain.errors import Unavailable
from shared.payments.connect import connect_webhooks
from shared.secrets import with_secrets
from shared.settings import Settings, read_settings

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:onsale/prod/payment-key-AbCdEf"
OTHER = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:onsale/prod/webhook-secrets-GhIjKl"


def test_values_that_are_no_arns_are_left_alone() -> None:
    """A deployment that keeps its secrets in variables asks nobody."""
    settings = Settings(payment_key=SecretStr("sk_test_1"), webhook_secrets=(SecretStr("whsec_1"),))

    assert with_secrets(settings, _nobody) is settings


def test_arns_are_replaced_by_their_values() -> None:
    """Each ARN is fetched; several webhook secrets stand in one secret, comma separated."""
    settings = read_settings({"ONSALE_PAYMENT_KEY": ARN, "ONSALE_TAG_SECRET": "tag", "ONSALE_WEBHOOK_SECRETS": OTHER})
    stored = {ARN: "sk_live_9\n", OTHER: "whsec_1, whsec_2"}

    found = with_secrets(settings, stored.__getitem__)

    assert found.payment_key == SecretStr("sk_live_9")
    assert found.tag_secret == SecretStr("tag")
    assert found.webhook_secrets == (SecretStr("whsec_1"), SecretStr("whsec_2"))


def test_a_secret_that_cannot_be_read_is_named() -> None:
    """The sentence says which secret and what to do; it never shows what others hold."""
    settings = Settings(payment_key=SecretStr(ARN))

    with pytest.raises(Unavailable, match="put-secret-value") as caught:
        with_secrets(settings, _nobody)

    assert ARN in caught.value.message


@pytest.mark.parametrize(
    ("mode", "key", "live"), [("live", None, True), ("test", None, False), (None, "sk_live_1", True)]
)
def test_the_door_takes_webhooks_without_the_payment_key(mode: str | None, key: str | None, live: bool) -> None:
    """The stated mode is enough; without one the key shows it."""
    settings = Settings(
        payment_mode=mode,
        payment_key=SecretStr(key) if key else None,
        tag_secret=SecretStr("tag"),
        webhook_secrets=(SecretStr("whsec_1"),),
    )

    assert connect_webhooks(settings)._live is live


def _nobody(arn: str) -> str:
    raise LookupError(arn)


def test_secrets_come_from_secrets_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in AWS Secrets Manager is read through Powertools, by the ARN that AWS gave it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    clear_caches()  # type: ignore[no-untyped-call] # Powertools leaves it so
    with mock_aws():
        vault = boto3.client("secretsmanager", region_name="eu-central-1")
        arn = vault.create_secret(Name="onsale/prod/payment-key", SecretString="sk_live_7\n")["ARN"]
        settings = read_settings({"ONSALE_PAYMENT_KEY": arn, "ONSALE_TAG_SECRET": "tag"})

        found = with_secrets(settings)

        assert found.payment_key == SecretStr("sk_live_7")
        assert "sk_live_7" not in repr(found)
        with pytest.raises(Unavailable, match="put-secret-value"):
            with_secrets(settings.model_copy(update={"payment_key": SecretStr(arn[:-6] + "AbCdEf")}))
    clear_caches()  # type: ignore[no-untyped-call] # Powertools leaves it so
