"""Every test of this folder runs over every store in `KINDS`, plain and under faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.ports.changes import ChangeLog
from shared.ports.store import Store
from tests.contract.kinds import OpenStore, StoreKind, sqlite_file, sqlite_memory, under_faults
from tests.contract.kinds_dynamo import dynamo_on_ministack, dynamo_on_moto
from tests.fakes.system import FakeClock

# moto reads our expressions a second time; sizes, big partitions and streams are beyond it.
MOTO_MODULES = frozenset({"test_control", "test_grants", "test_holding", "test_orders", "test_seats"})
SQLITE = StoreKind("sqlite", sqlite_file)
MINISTACK = StoreKind("dynamo-ministack", dynamo_on_ministack, examples=10)
KINDS = [
    SQLITE,
    under_faults(SQLITE),
    StoreKind("sqlite-memory", sqlite_memory),
    MINISTACK,
    under_faults(MINISTACK),
    StoreKind("dynamo-moto", dynamo_on_moto, remembers_moves=False, parallel=False, modules=MOTO_MODULES),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that asks for a store once for each kind."""
    if "kind" in metafunc.fixturenames:
        module = metafunc.module.__name__.rsplit(".", 1)[-1]
        kinds = [kind for kind in KINDS if kind.modules is None or module in kind.modules]
        metafunc.parametrize("kind", kinds, ids=lambda kind: kind.name)


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
