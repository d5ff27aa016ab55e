"""Staff look at parked orders and have them taken up again, page by page, by a filter.

A page reads a bounded number of shards and orders, so it may come back short or empty with a cursor; whoever drives it
counts first and sets the pace. A walk is bounded by the time it began: what is parked again meanwhile is left to the
next one.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from ingest.audit_trail import Actor, audit
from ingest.change_sale import standing_sale
from ingest.paging import Position, read_position
from ingest.parts import Parts
from shared.domain.errors import Broken, Conflicting, NotFound
from shared.domain.order import Lane, Order, WorkHint
from shared.domain.order_id import locate_order
from shared.domain.sale import Sale
from shared.domain.transitions import redrive

# Queries and orders of one page at most.
MAX_QUERIES = 64
MAX_READ = 200
_PAGE = 50


class ParkedFilter(Struct, frozen=True):
    """Which parked orders are meant; what is None does not count. `error` is part of the text, in any case.

    Ages are counted from the moment of parking.
    """

    event_id: str | None = None
    error: str | None = None
    duty: str | None = None
    min_age_s: int | None = None
    max_age_s: int | None = None

    def fits(self, order: Order, now_ms: int) -> bool:
        """Say whether a parked order is meant."""
        parked = order.parked
        if parked is None:
            return False
        age_ms = now_ms - parked.at_ms
        return (
            (self.error is None or self.error.casefold() in parked.error.casefold())
            and (self.duty is None or parked.duty == self.duty)
            and (self.min_age_s is None or age_ms >= self.min_age_s * 1000)
            and (self.max_age_s is None or age_ms <= self.max_age_s * 1000)
        )


class ParkedPage(Struct):
    """Orders that fit; `examined` were read, `unreadable` could not be; `redriven` were taken up by this page."""

    orders: list[Order] = field(default_factory=list)
    examined: int = 0
    unreadable: list[str] = field(default_factory=list)
    redriven: int = 0
    cursor: str | None = None


def list_parked(parts: Parts, wanted: ParkedFilter, *, cursor: str | None, limit: int) -> ParkedPage:
    """Return a page of parked orders by event, shard and time; Invalid for a foreign cursor, NotFound for an event."""
    now_ms = parts.clock.now_ms()
    start = None if cursor is None else read_position(cursor)
    until_ms = now_ms if start is None else start.until_ms
    page = ParkedPage()
    queries = 0
    for position in _positions(parts, wanted, start, until_ms):
        at: Position | None = position
        while at is not None:
            if queries >= MAX_QUERIES or page.examined >= MAX_READ or len(page.orders) >= limit:
                page.cursor = str(at)
                return page
            queries += 1
            most = min(_PAGE, limit - len(page.orders), MAX_READ - page.examined)
            found = parts.store.due(at.event_id, at.shard, Lane.PARKED, until_ms=until_ms, limit=most, cursor=at.inner)
            for hint in found.hints:
                _examine(parts, wanted, hint, page, now_ms)
            at = None if found.cursor is None else Position(at.event_id, at.shard, found.cursor, until_ms)
    return page


def find_parked(parts: Parts, order_id: str, event_id: str | None) -> Order:
    """Read one parked order, in one event or in all; NotFound when none of this id is parked."""
    sales = [standing_sale(parts, event_id).sale] if event_id else [view.sale for view in parts.store.list_sales()]
    for sale in sales:
        try:
            order = parts.store.get_order(locate_order(sale.event_id, order_id, sale.shard_counts))
        except NotFound:
            continue
        if order is not None and order.parked is not None:
            return order
    raise NotFound("No parked order has this id.")


def redrive_order(parts: Parts, actor: Actor, order_id: str, event_id: str | None) -> Order:
    """Take one parked order up again; Conflicting when somebody else changed it at this moment."""
    order = find_parked(parts, order_id, event_id)
    redriven = _redriven(parts, actor, order)
    if redriven is None:
        raise Conflicting("Somebody else changed the order just now; look at it again.", code="order-changed")
    _audit(parts, actor, order.key.event_id, [order])
    return redriven


def redrive_page(
    parts: Parts, actor: Actor, wanted: ParkedFilter, *, cursor: str | None, limit: int, dry_run: bool
) -> ParkedPage:
    """Take one page of parked orders up again, or only count them (`dry_run`).

    An order that somebody else wrote meanwhile is left alone and shows in `redriven` being smaller than the page.
    """
    page = list_parked(parts, wanted, cursor=cursor, limit=limit)
    if dry_run:
        return page
    done = [order for order in page.orders if _redriven(parts, actor, order) is not None]
    page.redriven = len(done)
    for event_id in sorted({order.key.event_id for order in done}):
        _audit(parts, actor, event_id, [order for order in done if order.key.event_id == event_id])
    return page


def shards_of(sale: Sale) -> range:
    """Return all shards that may hold orders under any version of the sale's map."""
    return range(max(sale.shard_counts))


def _positions(parts: Parts, wanted: ParkedFilter, start: Position | None, until_ms: int) -> Iterator[Position]:
    """Return the shards to read, from `start` on, by event and number."""
    if wanted.event_id is not None:
        sales = [standing_sale(parts, wanted.event_id).sale]
    else:
        sales = sorted((view.sale for view in parts.store.list_sales()), key=lambda sale: sale.event_id)
    for sale in sales:
        for shard in shards_of(sale):
            here = sale.event_id, shard
            if start is not None and here < (start.event_id, start.shard):
                continue
            inner = start.inner if start is not None and here == (start.event_id, start.shard) else None
            yield Position(sale.event_id, shard, inner, until_ms)


def _examine(parts: Parts, wanted: ParkedFilter, hint: WorkHint, page: ParkedPage, now_ms: int) -> None:
    page.examined += 1
    try:
        order = parts.store.get_order(hint.key)
    except (Broken, NotFound):
        page.unreadable.append(f"{hint.key.event_id}/{hint.key.order_id}")
        return
    if order is not None and wanted.fits(order, now_ms):
        page.orders.append(order)


def _redriven(parts: Parts, actor: Actor, order: Order) -> Order | None:
    """Write the redrive; None when somebody else wrote the order first."""
    after = redrive(order, op=parts.ids.op_id(), now_ms=parts.clock.now_ms(), who=actor.who)
    return after if parts.store.save(after, seen_rev=order.rev).done else None


def _audit(parts: Parts, actor: Actor, event_id: str, orders: list[Order]) -> None:
    ids = " ".join(order.key.order_id for order in orders)
    audit(
        parts,
        actor,
        "redrive",
        subject=event_id if len(orders) > 1 else f"{event_id}/{ids}",
        before=f"{len(orders)} parked: {ids}",
        after=f"{len(orders)} taken up again",
    )
