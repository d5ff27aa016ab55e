"""A buyer's own orders over all events: read from copies that the stream writes, so no order's shard is asked."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from msgspec import Struct

from ingest.parts import Parts
from shared.domain.errors import Invalid
from shared.domain.order import Status

if TYPE_CHECKING:
    from shared.ports.buyer_orders import BuyerOrder

MAX_CURSOR_CHARS = 300
_CACHE_KEY = "progress"


class OwnOrders(Struct, frozen=True):
    """A page, newest first; `as_of_ms` is the newest change that any copy knows of, None before the first."""

    orders: tuple[BuyerOrder, ...]
    as_of_ms: int | None
    cursor: str | None


def list_own_orders(parts: Parts, buyer_id: str, *, limit: int, cursor: str | None) -> OwnOrders:
    """Return a page of a buyer's orders; Invalid for a foreign cursor, Unavailable when the copies do not answer.

    An order that was superseded is left out: the one that took its place stands in the list itself.
    """
    copies = parts.open_copies()
    inner = None if cursor is None else _unpack(cursor)
    # Read before the page: what is shown may be newer than it says, never older.
    as_of_ms = parts.progress.get(_CACHE_KEY, copies.progress_ms)
    page = copies.list_orders(buyer_id, limit=limit, cursor=inner)
    shown = tuple(order for order in page.orders if order.status is not Status.SUPERSEDED)
    return OwnOrders(shown, as_of_ms, None if page.cursor is None else _pack(page.cursor))


def _pack(cursor: str) -> str:
    return base64.urlsafe_b64encode(cursor.encode("utf-8")).decode("ascii").rstrip("=")


def _unpack(text: str) -> str:
    try:
        plain = text + "=" * (-len(text) % 4)
        return base64.b64decode(plain, altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError, ValueError):
        raise Invalid("This cursor is none of ours; begin again without one.", field="cursor", code="bad-cursor") from (
            None
        )
