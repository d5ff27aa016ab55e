"""Compares what was paid back with the payment service's own books."""

from __future__ import annotations

from pathlib import Path

from infra.local.outside import open_books, open_folder_store
from infra.verify.run import verify
from shared.system import SystemClock


def prove_by_books(data: Path, event: str) -> str:
    """Return whether I4 (captured less refunded is what each order owes) is `true`, `false` or `unchecked`."""
    books = open_books(data)
    if books is None:
        return "unchecked"
    clock = SystemClock()
    store = open_folder_store(data, clock)
    try:
        return verify(store, books, event, clock=clock).truths["I4"]
    finally:
        store.close()
