"""Loading goes on without the collector, and nothing else does."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from shared.collector import look_rarely, paused


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave the collector as it was found."""
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_while_loading() -> None:
    """It runs again afterwards, also after an error, without what was made meanwhile."""
    with paused():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(1_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(made)

    with pytest.raises(ValueError, match="in the middle"), paused():
        raise ValueError("in the middle")
    assert gc.isenabled()


def test_who_does_without_it_goes_on_without_it() -> None:
    """A program that has switched it off is left alone."""
    gc.disable()
    with paused():
        pass

    assert not gc.isenabled()


def test_it_looks_more_rarely_where_much_is_under_way() -> None:
    """In a server; what is garbage in circles is found all the same."""
    before = gc.get_threshold()
    try:
        look_rarely()
        assert all(now > then for now, then in zip(gc.get_threshold(), before, strict=True))
    finally:
        gc.set_threshold(*before)
