"""The stores that the suite runs over: how each is opened, and what it cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared.ports import ChangeLog, Clock, Store
from shared.stores.sqlite import SqliteStore


@dataclass(frozen=True)
class OpenStore:
    """A fresh, empty store, and its change log if it has one that can be read here."""

    store: Store
    log: ChangeLog | None


Opener = Callable[[Path, Clock], AbstractContextManager[OpenStore]]


@dataclass(frozen=True)
class StoreKind:
    """One store under test.

    `remembers_moves` is False where a repeated `draw` or `give_back` counts twice (an emulator without client
    tokens); `parallel` is False where an emulator itself is wrong under threads.
    """

    name: str
    open: Opener
    remembers_moves: bool = True
    parallel: bool = True


@contextmanager
def sqlite_file(folder: Path, clock: Clock) -> Iterator[OpenStore]:
    """Open a store in a file."""
    store = SqliteStore(folder, clock)
    yield OpenStore(store, store)
    store.close()


@contextmanager
def sqlite_memory(_folder: Path, clock: Clock) -> Iterator[OpenStore]:
    """Open a store in memory."""
    store = SqliteStore(None, clock)
    yield OpenStore(store, store)
    store.close()
