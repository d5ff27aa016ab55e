"""A buyer's copy of an order as a stored item, alike in every store."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.domain.errors import Broken, Invalid
from shared.domain.money import Money
from shared.domain.order import Status
from shared.domain.times import sortable_ms
from shared.ports.buyer_orders import MAX_PUT, BuyerOrder
from shared.stores.items import Item

_CURSOR = re.compile(r"\A[0-9]{1,20}#[a-z0-9._-]{1,64}#[0-9a-f-]{1,64}\Z")


def buyer_order_sk(order: BuyerOrder) -> str:
    """Return the sort key: by time of acceptance, then event and id."""
    return f"{sortable_ms(order.accepted_at_ms)}#{order.event_id}#{order.order_id}"


def buyer_order_item(order: BuyerOrder) -> Item:
    """Write a copy."""
    item: Item = {
        "pk": order.buyer_id,
        "sk": buyer_order_sk(order),
        "status": str(order.status),
        "reason": order.reason,
        "quantity": order.quantity,
        "amount": order.amount.minor,
        "currency": order.amount.currency,
        "refunded": order.refunded_minor or None,
        "updated_at": order.updated_at_ms,
        "rev": order.rev,
    }
    return {name: value for name, value in item.items() if value is not None}


def read_buyer_order(item: Item) -> BuyerOrder:
    """Read a copy back; Broken when the item is none."""
    try:
        accepted_at, event_id, order_id = item["sk"].split("#")
        return BuyerOrder(
            buyer_id=item["pk"],
            event_id=event_id,
            order_id=order_id,
            status=Status(item["status"]),
            reason=item.get("reason"),
            quantity=int(item["quantity"]),
            amount=Money(int(item["amount"]), item["currency"]),
            refunded_minor=int(item.get("refunded", 0)),
            accepted_at_ms=int(accepted_at),
            updated_at_ms=int(item["updated_at"]),
            rev=int(item["rev"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise Broken(f"The copy {item.get('sk')!r} of a buyer's order cannot be read: {error!r}.") from error


def check_put(orders: Sequence[BuyerOrder]) -> None:
    """Raise Invalid for more copies than one call stores."""
    if len(orders) > MAX_PUT:
        raise Invalid(f"One call stores at most {MAX_PUT} orders, not {len(orders)}.", code="too-many-orders")


def check_cursor(cursor: str) -> str:
    """Return the cursor; Invalid when it is not the sort key of a copy."""
    if not _CURSOR.match(cursor):
        raise Invalid("This cursor is none of ours; begin again without one.", field="cursor", code="bad-cursor")
    return cursor
