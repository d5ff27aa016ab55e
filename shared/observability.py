"""Logs: one JSON line each, a constant sentence with keys beside it, never personal data.

Keys in use: `event_id`, `order_id`, `shard`, `action`, `correlation_id`. Buyer ids, names, tokens, card details and
client secrets are never among them.
"""

from __future__ import annotations

from aws_lambda_powertools import Logger

from shared.domain.order_id import OrderKey
from shared.settings import Settings


def make_logger(room: str, settings: Settings) -> Logger:
    """Return the logger of one room (`ingest`, `consumers`, …) at the level the settings ask for."""
    return Logger(service=f"onsale-{room}", level=settings.log_level, use_rfc3339=True)


def about(key: OrderKey, correlation_id: str, action: str, **more: str | int) -> dict[str, str | int]:
    """Return the keys of a line about one order, for a logger's `extra`."""
    return {
        "event_id": key.event_id,
        "order_id": key.order_id,
        "shard": key.shard,
        "correlation_id": correlation_id,
        "action": action,
        **more,
    }
