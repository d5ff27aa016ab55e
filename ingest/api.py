"""All routes, and the document that describes them."""

from __future__ import annotations

from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes import (
    docs,
    figures,
    growth,
    hand_out,
    health,
    orders,
    own_orders,
    parked,
    payments,
    queue,
    refunds,
    sales,
    staff,
)

NOUNS = (
    orders,
    own_orders,
    payments,
    sales,
    staff,
    figures,
    growth,
    refunds,
    queue,
    parked,
    hand_out,
    health,
    docs,
)


def register_all(app: Resolver, parts: Parts) -> None:
    """Put every route on a resolver."""
    for noun in NOUNS:
        noun.register(app, parts)
