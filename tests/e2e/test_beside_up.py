"""What a person does in a second terminal, and what a change of store leaves alone."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.house import ONSALE, Up, up

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One system with its demo sale and no worker of its own."""
    with up(tmp_path_factory.mktemp("beside") / "shop", "--workers", "0") as system:
        yield system


@pytest.fixture
def worker(shop: Up) -> Iterator[subprocess.Popen[str]]:
    """Start a worker in a second terminal, with nothing but the data folder's name."""
    process = subprocess.Popen(
        [*ONSALE, "work", "--name", "second", "--data", str(shop.data)], stdout=subprocess.PIPE, text=True
    )
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    if process.stdout is not None:
        process.stdout.close()


def test_a_worker_beside_a_running_system_needs_its_folder_only(shop: Up, worker: subprocess.Popen[str]) -> None:
    """It finds the store and the payment service there, and serves what was waiting."""
    assert worker.stdout is not None
    told = json.loads(worker.stdout.readline())

    bought = shop.onsale("order", "place", "demo", "--wait", "--json")

    assert (told["worker"], told["store"]) == ("second", "sqlite")
    assert json.loads(bought.stdout)["status"] == "confirmed"


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("how", "member", "words"),
    [(["--payment-method", "pm_card_chargeDeclined"], "decline_code", "declined"), (["--hand-off"], "payment", "open")],
)
def test_who_waits_for_an_order_is_told_when_it_is_the_buyers_turn(
    how: list[str], member: str, words: str, shop: Up
) -> None:
    """A declined card and a payment by hand would be waited for until the hold ends."""
    placed = shop.onsale("order", "place", "demo", "--buyer", "zoe", *how, "--wait", "--json")
    order = json.loads(placed.stdout)

    assert (placed.returncode, order["status"]) == (0, "held")
    assert member in order
    assert "Your seats are held" in placed.stderr
    assert words in placed.stderr


def test_a_crowd_for_an_event_that_is_not_there_does_not_start(shop: Up, tmp_path: Path) -> None:
    """Not found is not the same as out of reach."""
    crowd = shop.onsale(
        "stampede", "--event", "nope", "--buyers", "2", "--no-measure", "--receipts", str(tmp_path / "receipts")
    )

    assert crowd.returncode == 3
    assert "nope" in crowd.stderr


def test_the_money_of_one_store_is_no_matter_of_the_others(tmp_path: Path) -> None:
    """Two systems over one folder, one after the other: neither finds payments without orders, to pay them back."""
    data = tmp_path / "shop"
    with up(data, "--workers", "1") as sqlite:
        assert json.loads(sqlite.onsale("order", "place", "demo", "--wait", "--json").stdout)["status"] == "confirmed"
    with up(data, "--workers", "1", "--store", "dynamodb") as dynamodb:
        mixed = json.loads(dynamodb.onsale("reconcile", "--json").stdout)
        assert json.loads(dynamodb.onsale("order", "place", "demo", "--wait", "--json").stdout)["status"] == "confirmed"
    with up(data, "--workers", "1", "--store", "dynamodb") as anew:
        empty = json.loads(anew.onsale("reconcile", "--json").stdout)
    with up(data, "--workers", "1") as again:
        back = json.loads(again.onsale("reconcile", "--json").stdout)
        checked = again.onsale("verify", "demo", "--json")

    assert [report["intents"] for report in (mixed, empty, back)] == [0, 0, 1]
    assert (back["orders"], back["findings"]) == (1, [])
    assert checked.returncode == 0
