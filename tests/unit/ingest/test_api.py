"""Which routes are loaded for whom."""

from __future__ import annotations

import subprocess
import sys

from ingest.api import BUYERS_NOUNS, BUYERS_PATHS
from ingest.door import Door


def test_an_address_is_served_alike_by_either_resolver(door: Door) -> None:
    """Every route of the whole API that begins like a buyer's is among those loaded for buyers, and no other is."""
    alls, buyers = door.make_resolver(), door.make_resolver("/v1/orders")

    def named(app: object) -> set[tuple[str, str]]:
        routes = app._static_routes + app._dynamic_routes  # type: ignore[attr-defined]
        return {(route.method, route.path) for route in routes}

    assert alls is not buyers
    assert named(buyers) == {(method, path) for method, path in named(alls) if path.startswith(BUYERS_PATHS)}


def test_a_start_loads_what_buyers_reach_and_no_more() -> None:
    """Staff's routes, the documentation, the payment library, every store and what trouble needs come later."""
    program = "import sys, ingest.handler; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert {noun.__name__ for noun in BUYERS_NOUNS} <= set(loaded)
    assert not {"ingest.routes.staff", "ingest.routes.docs", "ingest.all_routes"} & set(loaded)
    assert not {"stripe", "boto3", "sqlite3", "aws_lambda_powertools.event_handler.openapi.models"} & set(loaded)
    assert not {"tenacity", "shared.ports.payment", "shared.ports.stats", "shared.metering.snapshot"} & set(loaded)
