"""The stores that the suite runs over: how each is opened, and what it cannot do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from shared.ports.changes import ChangeLog
from shared.ports.store import Store
from shared.ports.system import Clock
from shared.retry import Retrier, RetryPolicy
from shared.stores.faults import Chance, Fault, FaultyStore
from shared.stores.retrying import RetryingStore
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock, SeededIds


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
    tokens); `parallel` is False where an emulator itself is wrong under threads; `examples` counts the random sales;
    `modules` are the only test files that an emulator can be trusted with, in a bearable time.
    """

    name: str
    open: Opener
    remembers_moves: bool = True
    parallel: bool = True
    examples: int = 30
    modules: frozenset[str] | None = None


# Where a sync costs nothing: what a store does with a disk has tests of its own.
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it


@contextmanager
def sqlite_file(folder: Path, clock: Clock) -> Iterator[OpenStore]:
    """Open a store in a file."""
    with TemporaryDirectory(dir=_MEMORY_DISK if _MEMORY_DISK.is_dir() else folder) as quick:
        store = SqliteStore(quick, clock)
        yield OpenStore(store, store)
        store.close()


@contextmanager
def sqlite_memory(_folder: Path, clock: Clock) -> Iterator[OpenStore]:
    """Open a store in memory."""
    store = SqliteStore(None, clock)
    yield OpenStore(store, store)
    store.close()


# A call in five goes wrong. What an index shows late has tests of its own: here every page is to be exact.
RATES = {
    Fault.THROTTLED: 0.05,
    Fault.CONTENDED: 0.04,
    Fault.UNAVAILABLE: 0.02,
    Fault.LOST_BEFORE: 0.02,
    Fault.LOST_AFTER: 0.07,
    Fault.SHORT_PAGE: 0.1,
    Fault.EMPTY_PAGE: 0.05,
}
PATIENT = RetryPolicy(
    budget=1_000_000, tries=dict.fromkeys(("throttled", "contended", "unavailable", "answer-lost"), 50)
)


def under_faults(kind: StoreKind) -> StoreKind:
    """Return the same kind behind a wrapper that fails and one that repeats: together they are to be as good."""

    @contextmanager
    def opened(folder: Path, clock: Clock) -> Iterator[OpenStore]:
        with kind.open(folder, clock) as inner:
            ids = SeededIds(4)
            still = FakeClock()
            faulty = FaultyStore(inner.store, Chance(ids, RATES))
            retrier = Retrier(still, ids, still.advance, policy=replace(PATIENT, deadline_s=1e9))
            yield OpenStore(RetryingStore(faulty, retrier), inner.log)

    return dataclasses.replace(kind, name=f"{kind.name}-faults", open=opened)
