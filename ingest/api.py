"""All routes, and the document that describes them."""

from __future__ import annotations

from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes import docs, growth, health, orders, payments, refunds, sales, staff


def register_all(app: Resolver, parts: Parts) -> None:
    """Put every route on a resolver."""
    for noun in (orders, payments, sales, staff, growth, refunds, health, docs):
        noun.register(app, parts)
