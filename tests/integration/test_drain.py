"""The measurement of draining, small: what it reports is what was done."""

from __future__ import annotations

import pytest

from infra.bench.drain import Case, run

pytestmark = pytest.mark.timeout(120)


def test_a_backlog_is_worked_off_and_measured() -> None:
    """Seats alone and the whole way, by one worker and by two, each order once."""
    said: list[str] = []
    cases = [Case("sqlite", 1, 8, 200, confirm=False), Case("sqlite", 2, 8, 200, confirm=True)]

    figures = run(cases, said.append)

    assert [(one["what"], one["workers"], one["orders"]) for one in figures["runs"]] == [
        ("allocate", 1, 200),
        ("allocate and confirm", 2, 200),
    ]
    assert figures["allocated_per_s_sqlite_1_worker"] == figures["runs"][0]["orders_per_s"] > 0
    assert all(one["cpu_ms_per_order"] > 0 for one in figures["runs"])
    assert len(said) == 2
