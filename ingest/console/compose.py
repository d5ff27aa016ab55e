"""A frame out of its cards.

A card is made anew only when it is due; one that cannot be is shown as it was, with the reason, and holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingest.console.cards.attention import change_card, parked_card, payment_card, verify_card
from ingest.console.cards.funnel import funnel_card
from ingest.console.cards.heat import hot_key_card
from ingest.console.cards.sales import sales_card
from ingest.console.cards.shard_strip import shard_card
from ingest.console.cards.throttles import throttle_card
from ingest.console.cards.workers import worker_card
from ingest.console.look import Look
from ingest.console.shapes import Card, Frame
from shared.domain.errors import OnsaleError
from shared.domain.times import format_time_ms

_NEVER = float("-inf")

# Cards by name, each with the monotonic second at which it was made.
Cards = dict[str, tuple[float, Card]]
Writer = Callable[[Look], Card]
# Each card with how often it is made, in seconds: what moves fast or costs little, often.
CARDS: dict[str, tuple[Writer, float]] = {
    "funnel": (funnel_card, 1.0),
    "throttles": (throttle_card, 2.0),
    "shards": (shard_card, 2.0),
    "hot_keys": (hot_key_card, 5.0),
    "sales": (sales_card, 1.0),
    "workers": (worker_card, 1.0),
    "parked": (parked_card, 1.0),
    "payments": (payment_card, 5.0),
    "verify": (verify_card, 5.0),
    "changes": (change_card, 5.0),
}


def compose(look: Look, made: Cards, now_s: float) -> Frame:
    """Make the cards that are due at `now_s` (monotonic), keep them in `made`, and put the frame together."""
    for name, (write, every_s) in CARDS.items():
        made_at_s, old = made.get(name, (_NEVER, None))
        if old is None or now_s - made_at_s >= every_s:
            made[name] = now_s, _make(look, write, old, Frame.model_fields[name].annotation)
    sale = look.sale
    cards: dict[str, Any] = {name: card for name, (_, card) in made.items()}
    return Frame(
        event_id=sale.event_id,
        name=sale.name,
        status=sale.status,
        allocation_paused=sale.allocation_paused,
        opens_at=format_time_ms(sale.opens_at_ms),
        closes_at=format_time_ms(sale.closes_at_ms),
        server_time=format_time_ms(look.now_ms),
        **cards,
    )


def _make(look: Look, write: Writer, old: Card | None, kind: Any) -> Card:  # noqa: ANN401 - a class of cards
    try:
        return write(look)
    except OnsaleError as error:
        empty: Card = kind()
        return (old or empty).model_copy(update={"trouble": error.message})
