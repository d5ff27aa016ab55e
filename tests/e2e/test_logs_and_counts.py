"""A whole system at its most talkative: what its logs never hold, and what its counts must equal."""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from infra.cli.api import Api
from infra.local.minting import mint
from infra.local.outside import open_folder_store
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from shared.domain.errors import OnsaleError
from shared.domain.order import Order
from shared.system import SystemClock

pytestmark = pytest.mark.timeout(180)

EVENT, SEATS, SHARDS = "loud", 6, 4
HOLDER = "Philippa Unmistakable"
BUYERS = [f"buyer-of-secrets-{number}" for number in range(9)]
DECLINED, VISA = "pm_card_chargeDeclined", "pm_card_visa"
ENDED = {"confirmed", "rejected", "expired", "cancelled"}
PROCESSES = {"API", "worker-1", "worker-2", "change-pump"}


class Run:
    """One run of the system, and what its clients sent and were told."""

    def __init__(self, system: System, data: Path) -> None:
        assert system.running is not None
        self.url = system.running.url
        self.data = data
        self.secrets: set[str] = {HOLDER, *BUYERS}
        self.told: Counter[str] = Counter()
        self.placed: list[tuple[str, str]] = []
        self.page = ""
        self.throttles: dict[str, Any] = {}

    def api(self, subject: str, *scopes: str) -> Api:
        """Return a client with a token of its own."""
        token = mint(self.data, subject, scopes)
        self.secrets.add(token)
        return Api(self.url, token)

    def order(self, buyer: str, method: str | None, quantity: int = 1) -> str | None:
        """Place an order under a correlation id of the buyer's own; note the result by its code."""
        body: dict[str, Any] = {
            "lines": [{"ticket_type_id": "ticket", "quantity": quantity}],
            "holder": HOLDER,
            **({} if method is None else {"payment_method": method}),
        }
        headers = {"x-correlation-id": f"trace-{buyer}".replace("buyer-of-secrets", "b")}
        try:
            order = self.api(buyer, "buy").call("POST", f"/v1/events/{EVENT}/orders", body=body, headers=headers)[1]
        except OnsaleError:
            self.told["refused"] += 1
            return None
        self.told["accepted"] += 1
        self.placed.append((buyer, order["order_id"]))
        return str(order["order_id"])

    def read(self, buyer: str, order_id: str) -> dict[str, Any]:
        """Look as the buyer does; keep every secret that is shown."""
        order = self.api(buyer, "buy").call("GET", f"/v1/events/{EVENT}/orders/{order_id}")[1]
        self.secrets.update(order.get("tickets") or [])
        secret = (order.get("payment") or {}).get("client_secret")
        self.secrets.update({secret} if secret else set())
        return order

    def counted(self, text: str) -> bool:
        """Say whether a page has everything that was told and stored."""
        steps = samples(text, "onsale_order_steps_total")
        held = sum(order.held_at_ms is not None for order in stored(self))
        return (
            sum(samples(text, "onsale_orders_total").values()) >= self.told.total()
            and ended(text) >= len(self.placed)
            and steps.get(("held",), 0) >= held
            and steps.get(("declined",), 0) >= 1
        )

    def attempted(self, throttles: dict[str, Any]) -> bool:
        """Keep a report of attempts; say whether all processes and the sale's own key are in it."""
        self.throttles = throttles
        return {one["process"] for one in throttles["processes"]} >= PROCESSES and bool(writes_of_the_sale(throttles))


def writes_of_the_sale(throttles: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a report says of orders written."""
    return [one for one in throttles["keys"] if one["operation"] == "PutItem" and one["key"].startswith(f"{EVENT}#")]


def wait_for(what: str, condition: Any, within_s: float = 60) -> None:  # noqa: ANN401 - any question
    """Ask until the answer is yes."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Sell out a small sale with every kind of ending, at log level DEBUG; the system has stopped when it is given."""
    data = tmp_path_factory.mktemp("loud") / "data"
    with System(Plan(data, workers=2, log_level="DEBUG"), lambda _: None) as system:
        found = Run(system, data)
        staff = found.api("staff-of-secrets", "staff:read", "staff:write")
        definition = one_pool_sale(EVENT, seats=SEATS, shards=SHARDS)
        definition["ticket_types"][0]["ticket_type_id"] = "ticket"
        staff.call("POST", "/v1/staff/sales", body=definition)
        found.order(BUYERS[0], VISA, quantity=99)
        by_hand = found.order(BUYERS[1], None)
        declined = found.order(BUYERS[2], DECLINED)
        assert by_hand is not None
        assert declined is not None
        wait_for("a client secret", lambda: "payment" in found.read(BUYERS[1], by_hand))
        wait_for("a decline", lambda: "decline_code" in found.read(BUYERS[2], declined))
        for buyer, order_id in ((BUYERS[1], by_hand), (BUYERS[2], declined)):
            found.api(buyer, "buy").call("DELETE", f"/v1/events/{EVENT}/orders/{order_id}")
        for buyer in BUYERS[3:]:
            found.order(buyer, VISA)
        found.order(BUYERS[0], VISA)
        wait_for("the ends", lambda: all(found.read(*one)["status"] in ENDED for one in found.placed))
        # Each process writes its counts down once a second, at a moment of its own.
        wait_for("the counts", lambda: found.counted(page(found.url)))
        found.page = page(found.url)
        wait_for("the attempts", lambda: found.attempted(staff.call("GET", "/v1/staff/throttles")[1]))
    return found


def page(url: str) -> str:
    """Read /metrics."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 - our own address
        return str(answer.read().decode())


def samples(text: str, name: str) -> dict[tuple[str, ...], float]:
    """Return a metric's samples by label values."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def ended(text: str) -> float:
    """Return how many orders have come to an end, as counted."""
    return sum(value for (step,), value in samples(text, "onsale_order_steps_total").items() if step in ENDED)


def stored(run: Run) -> list[Order]:
    """Read every order past every counter."""
    store = open_folder_store(run.data, SystemClock())
    try:
        return [order for shard in range(SHARDS) for order in store.list_orders(EVENT, shard, limit=1_000).orders]
    finally:
        store.close()


def lines(run: Run) -> list[dict[str, Any]]:
    """Return all log lines of all processes that are JSON."""
    texts = (file.read_text(encoding="utf-8") for file in sorted((run.data / "logs").glob("*.log")))
    return [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]


def test_no_log_holds_anything_personal_or_secret(run: Run) -> None:
    """Not at the most talkative level, not in any process: buyers, names, tokens, client secrets, tickets, keys."""
    run.secrets |= {
        value
        for name, value in json.loads((run.data / "secrets.json").read_text()).items()
        if "publishable" not in name
    }
    assert sum("_secret_" in secret for secret in run.secrets) >= 1
    texts = {file.name: file.read_text(encoding="utf-8") for file in (run.data / "logs").glob("*.log")}
    assert any(texts.values())

    found = {(name, secret) for name, text in texts.items() for secret in run.secrets if secret in text}
    assert not found
    metrics = (run.page, json.dumps(run.throttles))
    assert not [secret for secret in run.secrets if any(secret in text for text in metrics)]


def test_one_correlation_id_leads_from_the_door_to_the_confirmation(run: Run) -> None:
    """Every order that was paid has its lines in order: accepted, held, confirmed, all with event, order and shard."""
    confirmed = [order for order in stored(run) if order.status == "confirmed"]
    assert confirmed
    said = [line for line in lines(run) if "correlation_id" in line]
    for order in confirmed:
        own = [line for line in said if line["correlation_id"] == order.correlation_id]
        assert {"place_order", "hold", "confirmed"} <= {line["action"] for line in own}
        assert {(line["event_id"], line["order_id"], line["shard"]) for line in own if "order_id" in line} == {
            (EVENT, order.key.order_id, order.key.shard)
        }


def test_counts_equal_a_recount_of_the_stored_orders(run: Run) -> None:
    """Accepted, held, confirmed, rejected, cancelled: difference 0, summed over two workers and the door."""
    orders = stored(run)
    text = run.page
    assert samples(text, "onsale_orders_total").get(("accepted",)) == len(orders) == run.told["accepted"]
    assert sum(samples(text, "onsale_orders_total").values()) == run.told.total()

    steps = {labels[0]: int(value) for labels, value in samples(text, "onsale_order_steps_total").items()}
    recount = Counter(str(order.status) for order in orders)
    recount["held"] = sum(order.held_at_ms is not None for order in orders)
    ends = {name: number for name, number in steps.items() if name in {"held", *ENDED}}
    assert Counter(ends) == recount
    assert steps["declined"] >= 1, "news of a decline is a look that finds it again"


def test_the_throttle_rate_is_that_of_all_processes(run: Run) -> None:
    """This store never throttles; its attempts are those of the door, the workers and the pump together."""
    told = run.throttles
    assert told["total"]["throttled"] == 0
    assert {one["process"] for one in told["processes"]} >= PROCESSES
    assert told["total"]["attempts"] == sum(one["attempts"] for one in told["operations"]) > 0
    assert writes_of_the_sale(told)[0]["attempts"] >= 1
