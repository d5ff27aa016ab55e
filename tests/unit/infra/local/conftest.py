"""What the tests of the local server share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.local.fibers import Fibers


@pytest.fixture
def fibers() -> Iterator[Fibers]:
    """Return fibers with their thread beside the loop's."""
    fibers = Fibers()
    yield fibers
    fibers.close()
