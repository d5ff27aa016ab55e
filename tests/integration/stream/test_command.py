"""`onsale hot-keys` and its bench, as a script calls them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from aws_lambda_powertools import Logger
from typer.testing import CliRunner

from consumers.stream.handler import handle
from infra.cli.hot_keys import bench_hot_keys, hot_keys
from shared.domain.errors import NotFound
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.stats import SqliteStats
from shared.system import SystemClock
from tests.builders import make_sale
from tests.unit.stream.records import arrival, make_event, spoil


def invoke(command: Any, *arguments: str) -> str:  # noqa: ANN401 - a function that typer takes
    """Run one command and return what it wrote on stdout."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the data folder of a system with one sale, whose stream has been counted."""
    clock = SystemClock()
    with closing(SqliteStore(tmp_path, clock)) as store, closing(SqliteStats(tmp_path, clock)) as stats:
        store.create_sale(make_sale(shard_counts=(1,)))
        at_ms = clock.now_ms()  # of all, so that they fall into one second however slow the machine is
        records = [arrival(n, buyer="bot", at_ms=at_ms) for n in range(1, 1_502)]
        handle(make_event(*records[:-1], spoil(records[-1])), stats, Logger(service="test", level="CRITICAL"))
    return tmp_path


def test_hot_keys_as_json(folder: Path) -> None:
    """The JSON has the ranking, the advice with its command, and what could not be read."""
    value = json.loads(invoke(hot_keys, "--data", str(folder), "--json", "--top", "1"))

    assert [hot["name"] for hot in value["buyers"]["top"]] == ["bot"]
    assert [advice["command"] for advice in value["advice"]] == ["onsale sale reshard gig --shards 16"]
    assert value["refused_total"] == 1


def test_hot_keys_for_a_person(folder: Path) -> None:
    """The tables on stdout hold the key, the event and the buyer with their shares, and the refused record."""
    shown = invoke(hot_keys, "--data", str(folder))

    for words in ("gig#0", "bot", "100.0% !", "1500", "no NewImage"):
        assert words in shown


def test_looking_makes_no_store(tmp_path: Path) -> None:
    """A folder in which nothing has run stays empty, and the message says what to name."""
    with pytest.raises(NotFound, match="--data"):
        invoke(hot_keys, "--data", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_bench_prints_its_figures() -> None:
    """The bench's JSON has speed, memory and difference."""
    figures = json.loads(invoke(bench_hot_keys, "--records", "3000", "--buyers", "100", "--json"))

    assert figures["count_difference"] == 0
    assert figures["records_per_s"] > 0
    assert figures["rss_mb"] > 0
