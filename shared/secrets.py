"""Secrets that a deployment keeps in AWS Secrets Manager: a variable then holds the secret's ARN instead of its value.

Read when a part first needs them, so that an entry which needs none neither waits for them nor may read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import SecretStr

from shared.domain.errors import Unavailable
from shared.settings import Settings

_ARN = re.compile(r"\Aarn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+\Z")

Fetch = Callable[[str], str]


def with_secrets(settings: Settings, fetch: Fetch | None = None) -> Settings:
    """Return the settings with every ARN replaced by what it stands for; Unavailable when one cannot be read."""
    found: dict[str, object] = {}
    for name in ("payment_key", "tag_secret"):
        value: SecretStr | None = getattr(settings, name)
        if value is not None and _ARN.match(value.get_secret_value()):
            found[name] = SecretStr(_read(value, fetch))
    if any(_ARN.match(secret.get_secret_value()) for secret in settings.webhook_secrets):
        found["webhook_secrets"] = tuple(
            SecretStr(part.strip())
            for secret in settings.webhook_secrets
            for part in _read(secret, fetch).split(",")
            if part.strip()
        )
    return settings.model_copy(update=found) if found else settings


def _read(value: SecretStr, fetch: Fetch | None) -> str:
    text = value.get_secret_value()
    if not _ARN.match(text):
        return text
    try:
        return (fetch or fetch_secret)(text).strip()
    except Exception as error:
        # Whatever the client library raises: a secret without a value, no permission, no network.
        raise Unavailable(
            f"The secret {text} cannot be read ({type(error).__name__}); give it a value with `aws secretsmanager "
            "put-secret-value`, and see that this role may read it."
        ) from error


def fetch_secret(arn: str) -> str:
    """Fetch a secret's text from AWS."""
    # It loads the AWS library, which one machine does without.
    from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415

    return str(parameters.get_secret(arn))
