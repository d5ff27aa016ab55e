"""Staff, programs and buyers over HTTP and by command, against the local server as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from consumers.stream.buyer_orders import Projection
from consumers.stream.handler import handle
from infra.local.pump import Pump
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.buyer_orders import SqliteBuyerOrders
from shared.stores.sqlite.stats import SqliteStats
from shared.system import SystemClock
from tests.builders import make_sale
from tests.integration.servers import ROOT, RunningServer, running_server
from tests.unit.ingest.staff_scenes import confirm, park

LOGGER = Logger(service="test", level="CRITICAL")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with one sale that asks for fulfilment."""
    folder = tmp_path_factory.mktemp("staff")
    store = SqliteStore(folder, SystemClock())
    sale = make_sale(closes_at_ms=9_000_000_000_000, fulfilment=True)
    store.create_sale(sale)
    store.open_inventory(sale)
    now_ms = SystemClock().now_ms()
    for number in range(1, 6):
        error = "The bank timed out." if number < 4 else "It broke."
        park(store, number, error=error, at_ms=now_ms - number * 1_000)
    confirm(store, 9, at_ms=now_ms)
    store.close()
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    """Run the local server over that folder."""
    with running_server(folder) as server:
        yield server


def onsale(server: RunningServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell would."""
    command = [sys.executable, "-m", "infra.cli.main", *arguments, "--url", f"http://127.0.0.1:{server.port}"]
    token = server.token("boss", "staff:read", "staff:write")
    return subprocess.run(
        [*command, "--token", token], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def told(done: subprocess.CompletedProcess[str]) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Read what a command wrote."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_queue_is_measured_and_peeked_at_by_command(server: RunningServer) -> None:
    """Depths by lane, and the first parked orders, oldest first."""
    stats = told(onsale(server, "queue", "stats", "gig", "--json"))
    peek = told(onsale(server, "queue", "peek", "gig", "--lane", "parked", "--limit", "2", "--json"))
    shown = onsale(server, "queue", "stats", "gig")

    assert stats["lanes"]["fulfil"]["depth"] == 1
    assert len(stats["shards"]) == 4
    assert [order["order_id"][-1] for order in peek["orders"]] == ["5", "4"]
    assert "fulfil" in shown.stdout
    assert onsale(server, "queue", "stats", "nothing").returncode == 3


def test_parked_orders_are_listed_shown_counted_and_redriven_by_command(server: RunningServer, folder: Path) -> None:
    """The filter holds, a dry run changes nothing, and the redrive is in the audit trail."""
    listed = told(onsale(server, "parked", "list", "--event", "gig", "--error", "timed out", "--json"))
    order_id = listed["orders"][0]["order_id"]
    shown = told(onsale(server, "parked", "show", order_id, "--json"))
    dry = told(onsale(server, "parked", "redrive", "--error", "timed out", "--dry-run", "--json"))
    done = told(onsale(server, "parked", "redrive", "--error", "timed out", "--per-second", "100", "--json"))
    left = told(onsale(server, "parked", "list", "--json"))
    table = onsale(server, "parked", "list")

    assert len(listed["orders"]) == 3
    assert shown["history"][-1]["kind"] == "parked"
    assert (dry["matched"], dry["redriven"]) == (3, 0)
    assert (done["matched"], done["redriven"]) == (3, 3)
    assert {order["parked"]["error"] for order in left["orders"]} == {"It broke."}
    assert "It broke." in table.stdout
    assert onsale(server, "parked", "show", order_id).returncode == 3
    store = SqliteStore(folder, SystemClock())
    assert [entry.who for entry in store.list_audit(limit=5) if entry.action == "redrive"] == ["boss"]
    store.close()


def test_a_program_takes_and_completes_an_order_over_http(server: RunningServer) -> None:
    """What the document's curl lines do: pull, extend, complete; a second completion changes nothing."""
    token = server.token("robot", "staff:write")

    def ask(step: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON can hold
        reply = server.ask("POST", f"/v1/staff/fulfilment/{step}", body, token=token)
        assert reply.status == 200, reply.body
        return reply.json

    (item,) = ask("pull", {"max": 10, "visibility_s": 60})["items"]
    assert item["tickets"] == ["CODE"]
    assert ask("pull", {})["items"] == []
    ask("extend", {"receipt": item["receipt"], "visibility_s": 600})
    for _ in range(2):
        ask("complete", {"receipt": item["receipt"]})
    foreign = server.ask("POST", "/v1/staff/fulfilment/complete", {"receipt": "eA"}, token=token)
    assert foreign.status == 404


def test_a_buyers_list_comes_by_the_pump(server: RunningServer, folder: Path) -> None:
    """An order placed over HTTP stands in its buyer's list once the stream was pumped."""
    token = server.token("zoe", "buy")
    body = {"lines": [{"ticket_type_id": "standing", "quantity": 2}], "payment_method": "pm_card_visa"}
    placed = server.ask("POST", "/v1/events/gig/orders", body, token=token).json
    clock = SystemClock()
    log, stats, copies = SqliteStore(folder, clock), SqliteStats(folder, clock), SqliteBuyerOrders(folder)
    pump = Pump(
        log,
        lambda event, _: handle(event, stats, LOGGER, None, Projection(copies, LOGGER)),
        cursors=folder / "pump.json",
        failed=folder / "failed.jsonl",
    )
    while pump.step():
        pass
    for store in (log, stats, copies):
        store.close()

    mine = server.ask("GET", "/v1/orders", token=token).json
    queue = server.ask("GET", "/v1/staff/events/gig/queue", token=server.token("clerk", "staff:read")).json

    assert [order["order_id"] for order in mine["orders"]] == [placed["order_id"]]
    assert mine["orders"][0]["amount"]["minor"] == 5_000
    assert mine["age_s"] >= 0
    assert sum(queue["states"].values()) >= 7
