"""Worlds for the tests of the back office."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.builders import make_sale
from tests.unit.consumers.world import World


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Return a maker of worlds; its arguments are the sale's."""
    worlds: list[World] = []

    def make(**changes: Any) -> World:  # noqa: ANN401 - as `replace` takes them
        worlds.append(World(make_sale(**changes)))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Return a world with one pool of ten seats on four shards."""
    return make_world()
