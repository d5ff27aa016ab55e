"""Clients of AWS's services for whoever deploys and looks; the system itself speaks to DynamoDB only, its own way."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

CONNECT_TIMEOUT_S = 3
READ_TIMEOUT_S = 30


def open_client(service: str, region: str, endpoint_url: str | None = None) -> Any:  # noqa: ANN401 - made at run time
    """Open a client: of AWS, by the caller's own credentials, or of a server on this machine, which asks for none."""
    if endpoint_url is None:
        session = boto3.Session(region_name=region)
    else:
        session = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=region)  # noqa: S106
    return session.client(
        service,  # type: ignore[call-overload]
        endpoint_url=endpoint_url,
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": 3},
            proxies=None if endpoint_url is None else {},
            s3={"addressing_style": "path"},
        ),
    )
