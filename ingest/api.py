"""Which routes there are: those that buyers come for, which every process loads at its start, and all of them.

What only staff and readers of the documentation reach is loaded with their first request: a cold start loads a third
less without it, and a buyer's address is compared with fewer patterns.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes import health, orders, own_orders, payments, sales

BUYERS_NOUNS = (orders, own_orders, payments, sales, health)
# Whatever begins like this is a route of theirs, or none at all.
BUYERS_PATHS = ("/v1/events/", "/v1/orders", "/v1/webhooks/", "/healthz")

Register = Callable[[Resolver, Parts], None]


def routes_for(path: str) -> Register:
    """Return who puts the routes that may serve an address on a resolver."""
    return register_buyers if path.startswith(BUYERS_PATHS) else register_all


def register_buyers(app: Resolver, parts: Parts) -> None:
    """Put what buyers, load balancers and the payment service ask for on a resolver."""
    for noun in BUYERS_NOUNS:
        noun.register(app, parts)


def register_all(app: Resolver, parts: Parts) -> None:
    """Put every route on a resolver."""
    from ingest.all_routes import NOUNS  # noqa: PLC0415 - see above

    for noun in NOUNS:
        noun.register(app, parts)
