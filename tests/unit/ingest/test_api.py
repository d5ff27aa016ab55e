"""Which routes are loaded for whom."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ingest.resolver as resolver_module
from ingest.api import GROUPS, RUSH, RUSH_PATH
from ingest.door import Door
from ingest.requests import OrderRequest
from tests.unit.ingest.client import Client


def _named(app: object) -> set[tuple[str, str]]:
    routes = app._static_routes + app._dynamic_routes  # type: ignore[attr-defined]
    return {(route.method, route.path) for route in routes}


@pytest.mark.parametrize("path", GROUPS)
def test_an_address_is_served_alike_by_either_resolver(door: Door, path: str) -> None:
    """Every route of the whole API that begins like a group's is among those loaded for the group, and no other is."""
    alls, groups = door.make_resolver(), door.make_resolver(path)
    begins = tuple(one for one, register in GROUPS.items() if register is GROUPS[path])

    assert _named(groups) == {(method, path) for method, path in _named(alls) if path.startswith(begins)}
    assert _named(groups) < _named(alls)


def test_a_start_loads_what_buyers_press_and_no_more() -> None:
    """All other routes, the documentation, the payment library, every store and what trouble needs come later."""
    program = "import sys, ingest.handler; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert {noun.__name__ for noun in RUSH} <= set(loaded)
    assert not {"ingest.routes.staff", "ingest.routes.docs", "ingest.routes.webhooks", "ingest.all_routes"} & set(
        loaded
    )
    assert not {"stripe", "boto3", "sqlite3", "aws_lambda_powertools.event_handler.openapi.models"} & set(loaded)
    assert not {"tenacity", "shared.ports.payment", "shared.ports.stats", "shared.metering.snapshot"} & set(loaded)


def test_what_was_prepared_is_used(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests find resolvers ready, which know what bodies they take; none is made for them."""
    door.prepare(RUSH_PATH, 3)
    ready = list(door._idle[GROUPS[RUSH_PATH]])

    assert len(ready) == 3
    assert all(OrderRequest in {needs.body for needs in app.__dict__["_needs"].values()} for app in ready)
    monkeypatch.setattr(door, "make_resolver", None)
    monkeypatch.setattr(resolver_module, "get_type_hints", None)
    assert Client(door, "ann", "buy").ask("GET", "/v1/events/gig").status == 200
    assert Client(door, "ann", "buy").ask("POST", "/v1/events/gig/orders", {}).status == 422
    door.prepare(RUSH_PATH, 3)
