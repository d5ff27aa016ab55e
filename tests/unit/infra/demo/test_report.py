"""The report says what is so, and the demo fails when anything is not as it must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.demo.options import DemoOptions
from infra.demo.report import demo_report, is_broken
from infra.demo.run import Course, Evidence
from infra.demo.stream import StreamCounts
from infra.load.receipts import receipt_line
from infra.load.summary import summarise
from tests.unit.infra.verify.house import House
from tests.unit.infra.verify.test_planted_faults import captured_twice, lost_order, server_error, unpaid_confirmed

KEYS = [
    "accepted", "refused", "confirmed", "rejected", "expired", "capacity", "sold", "oversold", "lost",
    "duplicate_orders", "double_charged", "unpaid_confirmed", "accepted_per_s", "accept_ms_p50", "accept_ms_p99",
    "drained_per_s", "overtaken", "invariants",
]  # fmt: skip


def evidence_of(house: House, folder: Path) -> Evidence:
    """Gather what a demo would gather."""
    path = folder / "receipts.jsonl"
    path.write_text("".join(receipt_line(receipt) + "\n" for receipt in house.receipts))
    return Evidence(summarise(path), house.verify(), StreamCounts(13, {"new>queued": 13}))


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A run that went well."""
    return Course(DemoOptions(tmp_path, seats=10))


def test_the_report_has_every_promised_figure_and_is_json(course: Course, tmp_path: Path) -> None:
    """The keys that others rely on are there, counted from the evidence."""
    report = demo_report(course, evidence_of(House(), tmp_path))

    assert set(KEYS) <= json.loads(json.dumps(report)).keys()
    assert (report["accepted"], report["confirmed"], report["sold"], report["capacity"]) == (13, 8, 8, 10)
    assert report["invariants"] == {f"I{number}": "true" for number in range(1, 10)}
    assert not is_broken(course, evidence_of(House(), tmp_path))


@pytest.mark.parametrize("plant", [captured_twice, lost_order, server_error, unpaid_confirmed])
def test_a_planted_fault_fails_the_demo(plant: Callable[[House], None], course: Course, tmp_path: Path) -> None:
    """Whatever must never happen ends the demo with an error."""
    house = House()
    plant(house)

    assert is_broken(course, evidence_of(house, tmp_path))


def test_seats_left_beside_a_waiting_order_that_fits_fail_the_demo(course: Course, tmp_path: Path) -> None:
    """So does a sale that hung."""
    evidence = evidence_of(House(), tmp_path)
    course.waiting_that_fit = 1
    assert is_broken(course, evidence)

    course.waiting_that_fit, course.in_time = 0, False
    assert is_broken(course, evidence)
