"""Which routes there are: those of the rush, which every process loads at its start, and all others.

What nobody presses in the opening second is loaded with its first request: a cold start loads a third less without it,
and a buyer's address is compared with fewer patterns.
"""

from __future__ import annotations

from collections.abc import Callable

from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes import health, orders, payment_attempts, sales

RUSH = (orders, payment_attempts, sales, health)
RUSH_PATH = "/v1/events/"

Register = Callable[[Resolver, Parts], None]


def routes_for(path: str) -> Register:
    """Return who puts the routes that may serve an address on a resolver."""
    return next((register for begins, register in GROUPS.items() if path.startswith(begins)), register_all)


def register_rush(app: Resolver, parts: Parts) -> None:
    """Put what buyers press, and load balancers ask, on a resolver."""
    for noun in RUSH:
        noun.register(app, parts)


def register_own_orders(app: Resolver, parts: Parts) -> None:
    """Put a buyer's list of orders on a resolver."""
    from ingest.routes import own_orders  # noqa: PLC0415 - see above

    own_orders.register(app, parts)


def register_webhooks(app: Resolver, parts: Parts) -> None:
    """Put what the payment service calls on a resolver."""
    from ingest.routes import webhooks  # noqa: PLC0415 - see above

    webhooks.register(app, parts)


def register_all(app: Resolver, parts: Parts) -> None:
    """Put every route on a resolver."""
    from ingest.all_routes import NOUNS  # noqa: PLC0415 - see above

    for noun in NOUNS:
        noun.register(app, parts)


# Whatever begins like this is a route of theirs, or none at all.
GROUPS = {
    RUSH_PATH: register_rush,
    "/healthz": register_rush,
    "/v1/orders": register_own_orders,
    "/v1/webhooks/": register_webhooks,
}
