"""One system of real processes for each store, shared by the tests of this folder; each test has a sale of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.payments.shop import Shop, open_shop


@pytest.fixture(scope="package", params=["sqlite", "dynamodb"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Run a system over each store."""
    shop = open_shop(tmp_path_factory.mktemp(f"shop-{request.param}"), request.param, log_level="DEBUG")
    try:
        yield shop
    finally:
        shop.close()


@pytest.fixture
def shop(running: Shop) -> Iterator[Shop]:
    """The system, with a payment service that does what it should."""
    running.faults()
    yield running
    running.faults()
