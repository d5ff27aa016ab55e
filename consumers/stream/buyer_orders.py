"""Keeps the copies that buyers list their orders from, beside the counts.

Only what a buyer's list shows is copied, and only when it changed. Each copy goes on condition of the order's `rev`,
so it makes no difference in which order, how often or by which stream shard changes come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from consumers.stream.record import Change, sequence_of
from shared.domain.errors import Broken, Unavailable
from shared.domain.orphan import BUYER_ID as NOBODY
from shared.ports.buyer_orders import MAX_PUT, BuyerOrder, BuyerOrdersStore
from shared.stores.items import read_order
from shared.stores.wire import from_wire

Record = Mapping[str, Any]
# What a buyer's list shows lies in these attributes; `pay` carries what was paid back.
_SHOWN = ("status", "reason", "pay")


@dataclass(frozen=True, slots=True)
class Projection:
    """Copies what buyers see of their orders."""

    store: BuyerOrdersStore
    logger: Logger

    def take(self, stream_shard: str, records: Sequence[Record], changes: Sequence[Change]) -> frozenset[int]:
        """Copy the readable changes of a batch; return the sequence numbers that have to be delivered again.

        What cannot be copied because the item is none that we know is logged and passed: a copy is not worth holding
        up the stream for, and the order's next change mends it.
        """
        if not changes:
            return frozenset()
        sequences = frozenset(change.sequence for change in changes)
        newest: dict[tuple[str, str], BuyerOrder] = {}
        unknown = 0
        for record in _readable(records, sequences):
            try:
                order = _copy(record["dynamodb"])
            except Broken:
                unknown += 1
                continue
            if order is not None:
                key = order.event_id, order.order_id
                standing = newest.get(key)
                newest[key] = order if standing is None or order.rev > standing.rev else standing
        if unknown:
            self.logger.error(
                "Changes of orders could not be copied for their buyers.",
                action="copy",
                stream_shard=stream_shard,
                count=unknown,
            )
        return self._store(stream_shard, list(newest.values()), changes, sequences)

    def _store(
        self, stream_shard: str, orders: list[BuyerOrder], changes: Sequence[Change], sequences: frozenset[int]
    ) -> frozenset[int]:
        try:
            for start in range(0, len(orders), MAX_PUT):
                self.store.put(orders[start : start + MAX_PUT])
            self.store.note_progress(stream_shard, max(change.at_ms for change in changes))
        except Unavailable as error:
            self.logger.warning(
                "A batch of the stream was not copied for the buyers; it comes again.",
                action="copy",
                stream_shard=stream_shard,
                reason=error.message,
            )
            return sequences
        return frozenset()


def _readable(records: Sequence[Record], sequences: frozenset[int]) -> Iterable[Record]:
    """Return the records whose numbers were read without trouble; a removed order leaves its copy as it was."""
    for record in records:
        identifier = sequence_of(record)
        if identifier is not None and int(identifier) in sequences:
            yield record


def _copy(change: Record) -> BuyerOrder | None:
    """Read what the buyer sees now, or None when nothing of it changed; Broken when the item is no order of ours."""
    new, old = change.get("NewImage"), change.get("OldImage") or {}
    if new is None or "status" not in new or all(new.get(name) == old.get(name) for name in _SHOWN):
        return None
    order = read_order(from_wire(new))
    if order.buyer_id == NOBODY:
        return None
    return BuyerOrder(
        buyer_id=order.buyer_id,
        event_id=order.key.event_id,
        order_id=order.key.order_id,
        status=order.status,
        reason=None if order.reason is None else str(order.reason),
        quantity=order.quantity,
        amount=order.amount,
        refunded_minor=order.payment.refunded_minor,
        accepted_at_ms=order.accepted_at_ms,
        updated_at_ms=order.updated_at_ms or order.accepted_at_ms,
        rev=order.rev,
    )
