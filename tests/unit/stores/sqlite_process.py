"""A process of its own over a store's folder: `python -m tests.unit.stores.sqlite_process accept|hold FOLDER NAME`."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from shared.domain.errors import Contended
from shared.domain.order import Lane
from shared.domain.order_id import OrderKey
from shared.ports.inventory import HoldBatch
from shared.stores.sqlite import SqliteStore
from shared.system import SystemClock
from tests.builders import make_order


def accept(store: SqliteStore, name: str) -> None:
    """Accept orders without end, and tell each one's id once it is acknowledged."""
    for number in range(1_000_000):
        order = replace(make_order(number, op=f"op-{number}"), key=OrderKey("gig", 0, f"{name}-{number:07d}"))
        store.accept(order)
        sys.stdout.write(f"{order.key.order_id}\n")
        sys.stdout.flush()


def hold(store: SqliteStore, name: str) -> None:
    """Hold what stands in line, one by one, until nothing is left or nothing fits; tell how many were held."""
    held = tried = 0
    while True:
        hints = store.due("gig", 0, Lane.LINE, until_ms=10**12, limit=3).hints
        for hint in hints:
            tried += 1
            batch = HoldBatch("gig", f"{name}-{tried}", 20_000, 80_000, (hint,), {"floor": 0}, None)
            outcome = None
            while outcome is None:
                try:
                    outcome = store.hold_batch(batch)
                except Contended:
                    continue
            held += outcome.held
            if outcome.short:
                sys.stdout.write(f"{held}\n")
                return
        if not hints:
            sys.stdout.write(f"{held}\n")
            return


if __name__ == "__main__":
    what, folder, who = sys.argv[1:]
    {"accept": accept, "hold": hold}[what](SqliteStore(folder, SystemClock()), who)
