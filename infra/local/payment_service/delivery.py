"""Webhooks go out beside the API, never inside it: signed, repeated until a 2xx with growing delay, for a bounded time.

An event is taken up after its transaction is committed, and again after a restart. The faults that lose, double, delay
and reorder events strike here.
"""

import asyncio
import heapq
import itertools
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from infra.local.payment_service.books import Books
from infra.local.payment_service.faults import Dice, Faults
from infra.local.payment_service.records import Event
from infra.local.payment_service.signatures import signature_header
from infra.local.payment_service.writer import Writer

ATTEMPTS_AT_ONCE = 16
TIMEOUT_S = 10.0
RETRY_LONGEST_S = 60.0
RESUME_MAX = 100_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where events go and how long it is tried. `secrets` all sign, as while a secret is being rolled."""

    url: str
    secrets: tuple[str, ...]
    retry_first_s: float = 0.5
    retry_for_s: float = 600.0


class Deliverer(Protocol):
    """What takes events once they are committed."""

    def accept(self, events: list[Event]) -> None:
        """Take new events."""

    def send_again(self, event: Event, times: int) -> None:
        """Deliver an old event again, as from Stripe's dashboard."""


class Silent:
    """Nobody wants to be called."""

    def accept(self, events: list[Event]) -> None:
        """Leave the events in the books."""

    def send_again(self, event: Event, times: int) -> None:
        """There is nowhere to send it."""


@dataclass(slots=True)
class _Delivery:
    event: Event
    due_s: float
    tries: int = 0
    kept: bool = True
    lost: bool = False


class Webhooks:
    """Delivers events to one endpoint."""

    def __init__(self, endpoint: Endpoint, faults: Callable[[], Faults], dice: Dice) -> None:
        self._endpoint = endpoint
        self._faults = faults
        self._dice = dice
        self._heap: list[tuple[float, int, _Delivery]] = []
        self._held: dict[str, _Delivery] = {}
        self._number = itertools.count()
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(ATTEMPTS_AT_ONCE)

    def accept(self, events: list[Event]) -> None:
        """Plan the first attempt of each event, faults included."""
        faults = self._faults()
        for event in events:
            self._plan(event, faults)

    def send_again(self, event: Event, times: int) -> None:
        """Deliver an old event `times` times, at once."""
        for _ in range(times):
            self._push(_Delivery(event, time.monotonic(), kept=False))

    async def run(self, writer: Writer) -> None:
        """Deliver until cancelled."""
        for event in await writer.run(lambda books: books.pending_events(RESUME_MAX)):
            self._push(_Delivery(event, time.monotonic()))
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as attempts:
            while True:
                delivery = await self._next()
                await self._slots.acquire()
                attempts.create_task(self._attempt(session, writer, delivery))

    def _plan(self, event: Event, faults: Faults) -> None:
        strikes = self._dice.strikes
        if strikes(faults.webhook_lost, "webhook_lost", event.subject):
            self._push(_Delivery(event, time.monotonic(), lost=True))
            return
        due_s = time.monotonic()
        if strikes(faults.webhook_delayed, "webhook_delayed", event.subject):
            due_s += self._dice.draw("webhook_delay", event.subject) * faults.webhook_delay_max_s
        delivery = _Delivery(event, due_s)
        if event.intent_id not in self._held and strikes(faults.webhook_reordered, "webhook_reordered", event.subject):
            delivery.due_s += faults.webhook_reorder_wait_s
            self._held[event.intent_id] = delivery
        self._push(delivery)
        if strikes(faults.webhook_doubled, "webhook_doubled", event.subject):
            self._push(_Delivery(event, delivery.due_s, kept=False))

    def _push(self, delivery: _Delivery) -> None:
        heapq.heappush(self._heap, (delivery.due_s, next(self._number), delivery))
        self._wake.set()

    async def _next(self) -> _Delivery:
        while True:
            self._wake.clear()
            while self._heap and self._heap[0][0] <= time.monotonic():
                due_s, _, delivery = heapq.heappop(self._heap)
                # An entry whose delivery was moved to another time is stale.
                if due_s == delivery.due_s:
                    return delivery
            wait_s = self._heap[0][0] - time.monotonic() if self._heap else None
            try:
                await asyncio.wait_for(self._wake.wait(), wait_s)
            except TimeoutError:
                continue

    async def _attempt(self, session: aiohttp.ClientSession, writer: Writer, delivery: _Delivery) -> None:
        try:
            if delivery.lost:
                await _mark(writer, delivery, "lost")
                return
            delivered = await self._post(session, delivery.event)
            delivery.tries += 1
            self._release_held(delivery)
            await self._afterwards(writer, delivery, delivered=delivered)
        finally:
            self._slots.release()

    async def _post(self, session: aiohttp.ClientSession, event: Event) -> bool:
        signature = signature_header(event.payload, self._endpoint.secrets, int(time.time()))
        headers = {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": signature}
        try:
            async with session.post(
                self._endpoint.url, data=event.payload.encode(), headers=headers, allow_redirects=False
            ) as response:
                return 200 <= response.status < 300  # noqa: PLR2004 - what HTTP calls a success
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    def _release_held(self, delivery: _Delivery) -> None:
        held = self._held.get(delivery.event.intent_id)
        if held is None:
            return
        del self._held[delivery.event.intent_id]
        if held is not delivery and held.event.id != delivery.event.id:
            held.due_s = time.monotonic()
            self._push(held)

    async def _afterwards(self, writer: Writer, delivery: _Delivery, *, delivered: bool) -> None:
        if not delivery.kept:
            return
        if delivered:
            await _mark(writer, delivery, "delivered")
            return
        age_s = time.time() - delivery.event.created_at_ms / 1000
        if age_s > self._endpoint.retry_for_s:
            log.warning("An event was given up: the endpoint never took it.", extra={"event_type": delivery.event.type})
            await _mark(writer, delivery, "given_up")
            return
        wait_s = min(RETRY_LONGEST_S, self._endpoint.retry_first_s * 2 ** (delivery.tries - 1))
        delivery.due_s = time.monotonic() + wait_s
        self._push(delivery)


async def _mark(writer: Writer, delivery: _Delivery, state: str) -> None:
    def work(books: Books) -> None:
        books.mark_event(delivery.event.id, state, delivery.tries)

    try:
        await writer.run(work)
    except sqlite3.Error:
        # The writer has logged it. The event counts as undelivered and is sent again after a restart.
        return
