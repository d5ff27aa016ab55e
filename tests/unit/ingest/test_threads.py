"""One handler, many threads: no answer goes to the wrong request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import force_setattr

from ingest.api import RUSH_PATH
from ingest.door import Door
from shared.domain.order import Order
from shared.ports.orders import Accepted
from shared.stores.faults import FaultyStore, Script
from shared.stores.sqlite import SqliteStore
from tests.unit.ingest.client import Client, Reply

THREADS = 50


class _Meeting(FaultyStore):
    """Lets `THREADS` requests stand in the store at the same time before any of them goes on."""

    meeting = threading.Barrier(THREADS, timeout=20)

    def accept(self, order: Order) -> Accepted:
        self.meeting.wait()
        return super().accept(order)


def test_fifty_requests_at_once_are_answered_each_for_itself(door: Door, inner: SqliteStore) -> None:
    """All are in the middle of their request at the same moment; each gets its own order, holder and correlation id."""
    force_setattr(door._parts, "store", _Meeting(inner, Script({})))
    # One that is free already must not serve two of them.
    door.prepare(RUSH_PATH, 1)

    def order(number: int) -> tuple[Reply, Reply]:
        buyer = Client(door, f"buyer-{number}", "buy")
        body = {"lines": [{"ticket_type_id": "standing", "quantity": 1 + number % 10}], "holder": f"Holder {number}"}
        placed = buyer.ask(
            "POST",
            "/v1/events/gig/orders",
            body,
            headers={"idempotency-key": "same", "x-correlation-id": f"c-{number}"},
        )
        return placed, buyer.ask("GET", placed.headers["Location"])

    with ThreadPoolExecutor(THREADS) as pool:
        replies = list(pool.map(order, range(THREADS)))

    for number, (placed, read) in enumerate(replies):
        assert (placed.status, read.status) == (202, 200)
        assert placed.headers["x-correlation-id"] == f"c-{number}"
        assert placed.json["holder"] == read.json["holder"] == f"Holder {number}"
        assert placed.json["lines"][0]["quantity"] == 1 + number % 10
    assert len({placed.json["order_id"] for placed, _ in replies}) == THREADS
