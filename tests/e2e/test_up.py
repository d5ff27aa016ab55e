"""The whole system on one machine, as a person starts it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from infra.load.receipts import Kind, read_receipts
from tests.e2e.house import Up, onsale, up, wait_until_gone

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One system with its demo sale for the tests that only use it."""
    with up(tmp_path_factory.mktemp("up") / "shop", "--workers", "1") as system:
        yield system


def test_the_printed_curl_buys_a_ticket(shop: Up) -> None:
    """What `up` prints can be pasted: 202, and soon after a confirmed order with its ticket."""
    done = subprocess.run(["bash", "-c", f"{shop.told['curl']} --silent"], capture_output=True, text=True, check=True)
    head, _, body = done.stdout.replace("\r", "").partition("\n\n")
    assert head.startswith("HTTP/1.1 202")

    again = shop.onsale("order", "place", "demo", "--buyer", "alice", "--key", "my-first-order", "--wait", "--json")
    order = json.loads(again.stdout)

    assert order["order_id"] == json.loads(body)["order_id"]
    assert order["status"] == "confirmed"
    assert len(order["tickets"]) == 1


def test_a_sale_is_defined_paused_resumed_and_closed(shop: Up) -> None:
    """Staff's commands act over HTTP, and a buyer is refused by the rules they set."""
    assert shop.onsale("sale", "create", "gig", "--seats", "3", "--price", "19.99").returncode == 0
    assert shop.onsale("sale", "pause", "gig").returncode == 0
    paused = shop.onsale("order", "place", "gig")
    assert shop.onsale("sale", "resume", "gig").returncode == 0
    bought = shop.onsale("order", "place", "gig", "--quantity", "2", "--wait", "--json")
    assert shop.onsale("sale", "close", "gig").returncode == 0
    closed = shop.onsale("order", "place", "gig")
    sale = json.loads(shop.onsale("sale", "show", "gig", "--json").stdout)
    listed = json.loads(shop.onsale("sale", "list", "--json").stdout)

    assert (paused.returncode, closed.returncode) == (4, 4)
    assert "paused" in paused.stderr
    assert "closed" in closed.stderr
    assert json.loads(bought.stdout)["amount"] == {"minor": 3998, "currency": "EUR", "text": "39.98 EUR"}
    assert (sale["status"], sale["pools"][0]["taken"]) == ("closed", 2)
    assert [one["event_id"] for one in listed] == ["demo", "gig"]


def test_an_order_is_shown_to_its_buyer_only_and_cancelled(shop: Up) -> None:
    """Another buyer's token finds nothing; the buyer cancels a hold that waits for payment."""
    placed = json.loads(shop.onsale("order", "place", "demo", "--buyer", "ann", "--hand-off", "--json").stdout)
    order_id = placed["order_id"]

    foreign = shop.onsale("order", "show", "demo", order_id, "--buyer", "bob")
    cancelled = shop.onsale("order", "cancel", "demo", order_id, "--buyer", "ann")

    assert (foreign.returncode, cancelled.returncode) == (3, 0)
    status = "held"
    while status in {"queued", "held"}:
        time.sleep(0.1)
        status = json.loads(shop.onsale("order", "show", "demo", order_id, "--buyer", "ann", "--json").stdout)["status"]
    assert status == "cancelled"


def test_a_crowd_leaves_receipts_that_verify_believes(shop: Up, tmp_path: Path) -> None:
    """Bots buy, and every invariant holds by orders, counters, books and receipts."""
    receipts = str(tmp_path / "receipts.jsonl")
    assert shop.onsale("sale", "create", "rush", "--seats", "40", "--hold-ttl-s", "3").returncode == 0

    crowd = shop.onsale(
        "stampede", "--event", "rush", "--buyers", "60", "--calm", "--party-max", "1", "--within-s", "60",
        "--seed", "3", "--no-measure", "--receipts", receipts, "--json",
    )  # fmt: skip
    assert shop.onsale("sale", "close", "rush").returncode == 0
    verified = shop.onsale("verify", "rush", "--receipts", receipts, "--json")

    assert json.loads(crowd.stdout)["accepted"] == 60
    truths = json.loads(verified.stdout)["invariants"]
    assert set(truths.values()) == {"true"}
    assert verified.returncode == 0


def test_a_doctored_receipt_ends_verify_with_6(shop: Up, tmp_path: Path) -> None:
    """A buyer who holds a 202 for an order that is not stored makes I2 false."""
    lie = {
        "event": "demo", "buyer": "eve", "key": "k", "body": "ab", "orders": ["1-" + "0" * 32], "last": None,
        "answers": [["place", 1, 202, 1.0, None, None]],
    }  # fmt: skip
    receipts = tmp_path / "receipts.jsonl"
    receipts.write_text(json.dumps(lie))

    done = shop.onsale("verify", "demo", "--receipts", str(receipts), "--json")

    assert done.returncode == 6
    assert json.loads(done.stdout)["invariants"]["I2"] == "false"


def test_a_running_system_is_healthy_to_the_doctor(shop: Up) -> None:
    """Store, payment service, API and clock are all found well."""
    done = shop.onsale("doctor", "--json", "--port", shop.url.rpartition(":")[2])

    assert {one["thing"]: one["good"] for one in json.loads(done.stdout)} == dict.fromkeys(
        ("python", "sqlite", "folder", "disk", "port", "store", "payment service", "API", "clock"), True
    )


def test_a_second_system_over_the_same_folder_is_refused(shop: Up) -> None:
    """Two systems never share a folder: exit code 2 and a sentence."""
    done = shop.onsale("up", "--port", "0")

    assert done.returncode == 2
    assert "Another system already runs" in done.stderr


def test_a_killed_worker_comes_back_and_orders_outlive_a_killed_system(tmp_path: Path) -> None:
    """SIGKILL on the worker, then on `up` itself: no child is left behind, and what was sold stays sold."""
    data = tmp_path / "shop"
    with up(data, "--workers", "1") as first:
        os.kill(first.told["pids"]["worker 1"], signal.SIGKILL)
        bought = json.loads(first.onsale("order", "place", "demo", "--wait", "--json").stdout)
        assert bought["status"] == "confirmed"
        first.process.kill()
        first.process.wait()
        pids = [pid for name, pid in first.told["pids"].items() if name != "worker 1"]
        assert wait_until_gone(pids) == []

    unreachable = onsale("sale", "list", "--data", str(data))
    assert unreachable.returncode == 5
    with up(data, "--workers", "1") as second:
        shown = json.loads(second.onsale("order", "show", "demo", bought["order_id"], "--json").stdout)
    assert shown["tickets"] == bought["tickets"]


def test_a_crowd_behind_a_small_door_gets_in_at_the_doors_pace(shop: Up, tmp_path: Path) -> None:
    """Refused buyers come back when they were told to: all get in, no second takes more than the budget, none is bare.

    When the budget was asked is not written down: after the order was looked at, and before its answer came.
    """
    # Few, so that a busy machine, too, hears far more in a second than the door lets in.
    budget, buyers = 20, 100
    created = shop.onsale(
        "sale", "create", "door", "--seats", "3000", "--accept-per-s", str(budget), "--max-per-order", "4"
    )
    assert created.returncode == 0, created.stderr
    receipts = tmp_path / "receipts.jsonl"

    arguments = ("--event", "door", "--buyers", str(buyers), "--calm", "--no-measure", "--receipts", str(receipts))
    done = shop.onsale("stampede", *arguments, "--json")

    figures = json.loads(done.stdout)
    assert (figures["accepted"], figures["refused"], figures["gave_up"]) == (buyers, 0, 0)
    assert figures["problems"]["over-budget"] > buyers / 2
    assert (figures["bare_503"], figures["server_errors"], figures["no_answers"]) == (0, 0, 0)
    with closing(sqlite3.connect(shop.data / "onsale.db")) as store:
        query = "SELECT sk, json_extract(item, '$.accepted_at') FROM orders WHERE pk LIKE 'door#%'"
        looked_ms = dict(store.execute(query).fetchall())
    assert len(looked_ms) == buyers
    answered_ms = {
        order_id: answer.at_ms + 1  # written down in whole milliseconds
        for receipt in read_receipts(receipts)
        for answer in receipt.answers
        for order_id in receipt.order_ids
        if (answer.kind, answer.status) == (Kind.PLACE, 202)
    }
    spans = [(looked_ms[order_id], answered_ms[order_id]) for order_id in looked_ms]
    # Whatever began and ended within one second was let in within it.
    assert max(sum(first <= start and end < first + 1000 for start, end in spans) for first, _ in spans) <= budget
