"""The demo as a reader of the README runs it, small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.house import onsale

pytestmark = pytest.mark.timeout(400)
# Longer than a demo has patience.
WITHIN_S = 360
NEVER = ("oversold", "lost", "duplicate_orders", "double_charged", "unpaid_confirmed", "waiting_that_fit")
INVARIANTS = {f"I{number}": "true" for number in range(1, 10)}


def run_demo(data: Path, *arguments: str) -> dict[str, Any]:
    """Run a demo and return its report."""
    done = onsale("demo", "--json", "--data", str(data), *arguments, within_s=WITHIN_S)
    assert done.returncode == 0, done.stderr + done.stdout
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_a_stampede_with_killed_workers_sells_every_seat_once(tmp_path: Path) -> None:
    """Declines, vanished buyers, repeats and SIGKILLs: every seat sold once, every invariant true."""
    report = run_demo(
        tmp_path / "demo", "--buyers", "250", "--seats", "80", "--seed", "7", "--kill-workers", "--hold-ttl-s", "5"
    )

    assert {name: report[name] for name in NEVER} == dict.fromkeys(NEVER, 0)
    assert report["invariants"] == INVARIANTS
    assert report["accepted"] == 250
    assert report["sold"] == report["capacity"] == 80
    assert report["workers_killed"] >= 1
    assert report["server_errors"] == report["bare_503"] == 0
    ends = ("confirmed", "rejected", "expired", "cancelled")
    assert sum(report[status] for status in ends) == report["accepted"]


def test_a_calm_sale_for_everybody_serves_everybody_on_dynamodb(tmp_path: Path) -> None:
    """As many single seats as buyers: all are confirmed, on the other store too, though workers are killed."""
    report = run_demo(
        tmp_path / "demo", "--store", "dynamodb", "--buyers", "100", "--seats", "100", "--party-max", "1", "--calm",
        "--seed", "7", "--kill-workers", "--shards", "4",
    )  # fmt: skip

    assert report["confirmed"] == report["sold"] == 100
    assert {name: report[name] for name in NEVER} == dict.fromkeys(NEVER, 0)
    assert report["invariants"] == INVARIANTS


def test_a_payment_service_that_dies_in_the_middle_costs_nobody_anything(tmp_path: Path) -> None:
    """Killed for 20 s, webhooks lost, doubled and late: nobody is charged twice, nothing stays open."""
    report = run_demo(tmp_path / "demo", "--buyers", "200", "--seats", "80", "--seed", "7", "--payment-chaos")

    assert {name: report[name] for name in NEVER} == dict.fromkeys(NEVER, 0)
    assert report["invariants"] == INVARIANTS
    assert report["payment_outage_s"] >= 20
    assert (report["reconciliation"]["open"], report["reconciliation"]["for_a_person"]) == (0, 0)
    assert report["sold"] == report["capacity"] == 80


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """The demo empties its own folders only."""
    (tmp_path / "thesis.txt").write_text("years of work")

    done = onsale("demo", "--data", str(tmp_path))

    assert done.returncode == 2
    assert "holds other files" in done.stderr
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
