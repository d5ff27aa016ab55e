"""How values are declared: as structs where a cold start loads them."""

from __future__ import annotations

import dataclasses

import grimp
import pytest
from msgspec.structs import replace

from shared.domain.money import Money
from shared.domain.order import Line

PRICE = Money(2500, "EUR")


@pytest.mark.parametrize("room", ["ingest", "shared"])
def test_what_the_door_loads_has_no_dataclasses(room: str) -> None:
    """Each takes half a millisecond of every cold start to build, a struct a fortieth of it."""
    graph = grimp.build_graph(room, include_external_packages=True, cache_dir=None)

    assert "msgspec" in graph.modules
    assert "dataclasses" not in graph.modules


def test_what_is_replaced_is_checked() -> None:
    """The type checker knows a struct's members: it would complain of a needless "ignore" here."""
    with pytest.raises(TypeError):
        replace(PRICE, cents=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        replace(PRICE, minor="1")  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "kind"), [(PRICE, Money)])
def test_a_struct_is_kept_out_of_what_is_for_dataclasses(value: Money | Line, kind: type[Money]) -> None:
    """The type checker says so before the call fails, of what may be a struct and of its class, too."""
    with pytest.raises(TypeError):
        dataclasses.replace(PRICE, minor=1)  # type: ignore[misc]
    with pytest.raises(TypeError):
        dataclasses.asdict(value)  # type: ignore[misc]
    with pytest.raises(TypeError):
        dataclasses.fields(kind)  # type: ignore[misc]
