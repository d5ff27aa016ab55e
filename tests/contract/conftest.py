"""Every test of this folder runs over every store in `KINDS`, plain and under faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.ports import ChangeLog, Store
from tests.contract.kinds import OpenStore, StoreKind, sqlite_file, sqlite_memory
from tests.fakes.system import FakeClock

KINDS = [
    StoreKind("sqlite", sqlite_file),
    StoreKind("sqlite-memory", sqlite_memory),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    """Return the kind of store under test."""
    chosen: StoreKind = request.param
    return chosen


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock that the store under test reads."""
    return FakeClock()


@pytest.fixture
def opened(kind: StoreKind, tmp_path: Path, clock: FakeClock) -> Iterator[OpenStore]:
    """Open a fresh store of the kind."""
    with kind.open(tmp_path, clock) as opened:
        yield opened


@pytest.fixture
def store(opened: OpenStore) -> Store:
    """Return the store under test, empty."""
    return opened.store


@pytest.fixture
def log(opened: OpenStore) -> ChangeLog:
    """Return the change log of the store under test."""
    if opened.log is None:
        pytest.skip("this store's stream cannot be read here")
    return opened.log
