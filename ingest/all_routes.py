"""Every noun that has routes, in the order in which the document describes them."""

from __future__ import annotations

from ingest.routes import (
    console,
    docs,
    figures,
    growth,
    hand_out,
    health,
    orders,
    own_orders,
    parked,
    payment_attempts,
    queue,
    refunds,
    sales,
    staff,
    webhooks,
)

NOUNS = (
    orders,
    own_orders,
    payment_attempts,
    webhooks,
    sales,
    staff,
    console,
    figures,
    growth,
    refunds,
    queue,
    parked,
    hand_out,
    health,
    docs,
)
