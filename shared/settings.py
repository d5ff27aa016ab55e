"""The environment as one validated model; nothing else reads environment variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from shared.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "ONSALE_"


class Settings(BaseModel):
    """Everything that differs between two deployments. Field `x_y` is the variable `ONSALE_X_Y`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    env: str = Field(
        default="local", pattern=r"^[a-z0-9-]{1,32}$", description="Name of the deployment; part of every payment tag."
    )
    store: str = Field(default="sqlite", pattern=r"^(sqlite|dynamodb)$", description="Which store: sqlite or dynamodb.")
    data_dir: str = Field(default=".onsale", description="Folder of the SQLite file.")
    dynamodb_url: str | None = Field(default=None, description="DynamoDB endpoint; absent: AWS.")
    table_prefix: str = Field(
        default="onsale-local", description="Tables are called PREFIX-orders, -inventory, -control."
    )
    region: str = Field(default="us-east-1", description="AWS region of the tables.")
    payment_url: str | None = Field(default=None, description="Base address of the payment service; absent: Stripe.")
    payment_mode: str | None = Field(
        default=None,
        pattern=r"^(live|test)$",
        description="Which webhooks are taken: live or test; absent: those of the payment key's mode.",
    )
    payment_key: SecretStr | None = Field(
        default=None, description="Secret key for the payment service, or the ARN of the secret that holds it."
    )
    payment_timeout_s: float = Field(
        default=10, gt=0, le=80, description="Longest wait for one answer of it, in seconds."
    )
    tag_secret: SecretStr | None = Field(default=None, description="Key of the tag on our payment intents, or its ARN.")
    webhook_secrets: tuple[SecretStr, ...] = Field(
        default=(), description="Webhook secrets, comma separated, several while rotating; or their ARN."
    )
    token_issuer: str = Field(default="https://onsale.local/", description="Issuer that bearer tokens must name.")
    token_audience: str = Field(default="onsale", description="Audience that bearer tokens must name.")
    ingest_processes: int = Field(
        default=1, ge=1, description="Expected ingest processes; each lives on its share of accept_per_s."
    )
    reads_per_s: float = Field(
        default=1000,
        gt=0,
        description="How often all waiting buyers of one sale together are told to look, per second.",
    )
    limits_scale: float = Field(
        default=1.0,
        gt=0,
        description="The part of DynamoDB's limits that stands before the store; 1 but before a scaled throttle-proxy.",
    )
    metrics: str = Field(
        default="none",
        pattern=r"^(none|emf)$",
        description="Where metrics are sent: none (one machine reads them itself), or emf (CloudWatch, on Lambda).",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; Invalid naming the variable when one does not fit."""
    source = os.environ if environ is None else environ
    values: dict[str, object] = {
        name: source[PREFIX + name.upper()] for name in Settings.model_fields if source.get(PREFIX + name.upper())
    }
    secrets = values.get("webhook_secrets")
    if isinstance(secrets, str):
        values["webhook_secrets"] = tuple(part.strip() for part in secrets.split(",") if part.strip())
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = PREFIX + str(first["loc"][0]).upper()
        raise Invalid(f"The environment variable {name} does not fit: {first['msg']}.", field=name) from None
