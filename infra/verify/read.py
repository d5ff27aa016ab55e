"""Reads what the checks need, from a store that may be in motion.

A slice's orders are right beside its counter when the slice's version was the same before and after they were read;
where it was not, the group of shards that feeds it is read again, a bounded number of times.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from infra.load.receipts import Kind, Receipt
from infra.verify.facts import (
    AnswerShape,
    Claim,
    Facts,
    IntentFact,
    OrderFact,
    PoolFact,
    ReceiptFacts,
    Shrinker,
    SliceCount,
    intent_fact,
)
from infra.verify.seats import taken_seats
from shared.domain.errors import NotFound, Unavailable
from shared.domain.inventory import PoolState
from shared.domain.order import Order
from shared.domain.order_id import OrderKey, locate_order
from shared.domain.sale import Sale, group_of, slice_of
from shared.ports.control import SaleView
from shared.ports.orders import OrderPage
from shared.ports.payment import Intent, IntentPage
from shared.ports.system import Clock

PAGE_ORDERS = 500
PAGE_INTENTS = 100
# How often a group that changes under the reader is read again before it counts as unsettled.
MAX_PASSES = 5
BUYERS_A_CALL = 100
_TRIES = 8
_ACCEPTED = 202
_NOT_FOUND = 404
_PLACING = {Kind.PLACE, Kind.REPEAT}
# No intent is older than the first order of its sale; the margin covers clocks that disagree.
CLOCKS_APART_MS = 3_600_000

T = TypeVar("T")
Progress = Callable[[str, int], None]


class Reading(Protocol):
    """The part of the store that verification reads; nothing is ever written."""

    def get_sale(self, event_id: str) -> SaleView: ...  # noqa: D102 - as in shared.ports
    def get_pool(self, sale: Sale, pool_id: str) -> PoolState: ...  # noqa: D102
    def list_orders(  # noqa: D102
        self, event_id: str, shard: int, *, limit: int, cursor: str | None = None
    ) -> OrderPage: ...
    def get_order(self, key: OrderKey) -> Order | None: ...  # noqa: D102
    def buyer_counts(self, event_id: str, buyer_ids: Sequence[str]) -> Mapping[str, int]: ...  # noqa: D102


class Books(Protocol):
    """The part of the payment gateway that verification reads."""

    def list_intents(self, *, cursor: str | None, limit: int) -> IntentPage: ...  # noqa: D102
    def fetch(self, intent_id: str) -> Intent: ...  # noqa: D102


def quiet(_step: str, _count: int) -> None:
    """Show no progress."""


def patiently(call: Callable[[], T]) -> T:
    """Repeat a reading call while its back end is briefly unavailable."""
    policy = Retrying(
        retry=retry_if_exception_type(Unavailable),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_attempt(_TRIES),
        reraise=True,
    )
    return policy(call)


class Reader:
    """Reads one event."""

    def __init__(self, store: Reading, event_id: str, clock: Clock, progress: Progress = quiet) -> None:
        self._store = store
        self._clock = clock
        self._progress = progress
        self._shrinker = Shrinker()
        self.sale = patiently(lambda: store.get_sale(event_id)).sale

    def facts(self, books: Books | None, receipts: Iterable[Receipt] | None) -> Facts:
        """Read everything: orders first, then the payment service's books, so that late money finds its order."""
        pools, orders = self._pools_and_orders()
        return Facts(
            sale=self.sale,
            ended=self.sale.ended(self._clock.now_ms()),
            pools=pools,
            orders=orders,
            buyer_counts=self._buyer_counts(orders.values()),
            intents=None if books is None else self._intents(books, orders.values()),
            receipts=None if receipts is None else self._receipts(receipts),
        )

    def _pools_and_orders(self) -> tuple[tuple[PoolFact, ...], dict[str, OrderFact]]:
        sale = self.sale
        groups: dict[int, list[OrderFact]] = {}
        settled: dict[str, dict[int, SliceCount]] = {pool.pool_id: {} for pool in sale.pools}
        unread = set(range(sale.groups))
        after = self._pools()
        for _ in range(MAX_PASSES):
            before = after
            for group in sorted(unread):
                groups[group] = list(self._group(group))
            after = self._pools()
            tally = taken_seats(order for group in groups.values() for order in group)
            for pool_id, counts in settled.items():
                counts.update(_newly_settled(before[pool_id], after[pool_id], tally, counts.keys()))
            unread = _groups_to_read(sale, settled)
            if not unread:
                break
        pools = tuple(PoolFact(after[pool_id], settled[pool_id]) for pool_id in settled)
        return pools, {order.order_id: order for group in groups.values() for order in group}

    def _pools(self) -> dict[str, PoolState]:
        return {
            pool.pool_id: patiently(partial(self._store.get_pool, self.sale, pool.pool_id)) for pool in self.sale.pools
        }

    def _group(self, group: int) -> Iterator[OrderFact]:
        for shard in range(max(self.sale.shard_counts)):
            if group_of(self.sale, shard) == group:
                yield from self._shard(shard)

    def _shard(self, shard: int) -> Iterator[OrderFact]:
        read = partial(self._store.list_orders, self.sale.event_id, shard, limit=PAGE_ORDERS)
        cursor: str | None = None
        while True:
            page = patiently(partial(read, cursor=cursor))
            yield from map(self._shrinker.order, page.orders)
            self._progress("orders", len(page.orders))
            cursor = page.cursor
            if cursor is None:
                return

    def _buyer_counts(self, orders: Iterable[OrderFact]) -> dict[str, int]:
        if self.sale.max_per_buyer is None:
            return {}
        counts: dict[str, int] = {}
        buyers = sorted({order.buyer_id for order in orders})
        for at in range(0, len(buyers), BUYERS_A_CALL):
            part = buyers[at : at + BUYERS_A_CALL]
            counts.update(patiently(partial(self._store.buyer_counts, self.sale.event_id, part)))
            self._progress("buyers", len(part))
        return counts

    def _intents(self, books: Books, orders: Iterable[OrderFact]) -> dict[str, tuple[IntentFact, ...]]:
        oldest_ms = min((order.accepted_at_ms for order in orders), default=0) - CLOCKS_APART_MS
        found: dict[str, list[IntentFact]] = defaultdict(list)
        cursor: str | None = None
        while True:
            page = patiently(partial(books.list_intents, cursor=cursor, limit=PAGE_INTENTS))
            for intent in page.intents:
                if intent.order_key is not None and intent.order_key.event_id == self.sale.event_id:
                    order_id = intent.order_key.order_id
                    found[order_id].append(intent_fact(intent, order_id))
            self._progress("intents", len(page.intents))
            cursor = page.cursor
            if cursor is None or (page.intents and page.intents[-1].created_at_ms < oldest_ms):
                return {order_id: tuple(intents) for order_id, intents in found.items()}

    def _receipts(self, receipts: Iterable[Receipt]) -> ReceiptFacts:
        claims: list[Claim] = []
        answers: Counter[AnswerShape] = Counter()
        for receipt in receipts:
            if receipt.event_id == self.sale.event_id:
                claims.append(_claim(receipt))
                answers.update(
                    AnswerShape(answer.kind, answer.status, answer.retry_after_s is not None, answer.problem)
                    for answer in receipt.answers
                )
                self._progress("receipts", 1)
        return ReceiptFacts(tuple(claims), answers)

    def again(self, facts: Facts, books: Books | None, suspects: Iterable[str]) -> Facts:
        """Read some orders and their intents once more; those that changed in between are marked as moving.

        An order is read before and after its intents: only when both readings agree do the two belong together.
        """
        orders = dict(facts.orders)
        intents = dict(facts.intents or {})
        moving: set[str] = set()
        for order_id in suspects:
            first, known = self._one(order_id), orders.get(order_id)
            if books is not None:
                intents[order_id] = tuple(self._fetch(books, intent) for intent in intents.get(order_id, ()))
            second = self._one(order_id)
            if first != second or first != known:
                moving.add(order_id)
            if second is not None:
                orders[order_id] = second
            self._progress("suspects", 1)
        return replace(
            facts,
            orders=orders,
            intents=None if facts.intents is None else intents,
            buyer_counts=self._buyer_counts(orders.values()),
            moving=frozenset(moving),
        )

    def _one(self, order_id: str) -> OrderFact | None:
        try:
            key = locate_order(self.sale.event_id, order_id, self.sale.shard_counts)
        except NotFound:
            return None
        order = patiently(partial(self._store.get_order, key))
        return None if order is None else self._shrinker.order(order)

    def _fetch(self, books: Books, intent: IntentFact) -> IntentFact:
        return intent_fact(patiently(partial(books.fetch, intent.intent_id)), intent.order_id)


def _newly_settled(
    before: PoolState, after: PoolState, tally: Mapping[tuple[str, int], int], settled: Collection[int]
) -> dict[int, SliceCount]:
    versions = {part.slice_no: part.version for part in before.slices}
    return {
        part.slice_no: SliceCount(part.taken, tally.get((after.pool_id, part.slice_no), 0))
        for part in after.slices
        if part.slice_no not in settled and versions.get(part.slice_no) == part.version
    }


def _groups_to_read(sale: Sale, settled: Mapping[str, Collection[int]]) -> set[int]:
    return {
        group
        for pool in sale.pools
        for group in range(sale.groups)
        if slice_of(pool, group) not in settled[pool.pool_id]
    }


def _claim(receipt: Receipt) -> Claim:
    accepted = False
    unreadable = False
    for answer in receipt.answers:
        accepted = accepted or (answer.kind in _PLACING and answer.status == _ACCEPTED)
        unreadable = unreadable or (accepted and answer.kind is Kind.READ and answer.status == _NOT_FOUND)
    repeats = sum(1 for answer in receipt.answers if answer.kind is Kind.REPEAT)
    return Claim(
        receipt.buyer_id,
        receipt.key,
        receipt.body_sha256,
        receipt.order_ids,
        receipt.last_status,
        repeats,
        unreadable,
    )
