"""What the door counts equals what it answered."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from ingest.insight import Insight
from ingest.parts import Parts
from ingest.process import build_app
from shared.metering.emf import make_sender
from shared.metering.watch import Watch
from shared.metrics import ORDERS, REQUEST_S, REQUESTS
from shared.settings import Settings
from shared.stores.faults import Fault, Schedule, Script
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client


def counted(parts: Parts, name: str) -> dict[tuple[str, ...], float]:
    """Return a metric's counts by labels."""
    series = parts.insight.watch.meter.read().get(name, {})
    return {labels: one.value for labels, one in series.items()}


def test_the_funnel_begins_with_what_was_answered(
    ann: Client, bob: Client, reader: Client, parts: Parts, clock: FakeClock
) -> None:
    """Accepted, repeated and refused by code; every request by operation and status: difference 0."""
    replies = [ann.order(key="a"), ann.order(key="a"), ann.order(2, key="a"), bob.order(0), bob.order(99)]
    replies += [reader.order(), ann.order(event_id="none"), bob.order(1)]
    clock.advance(2_000_000)
    replies.append(bob.order())
    others = [ann.ask("GET", replies[0].headers["Location"]), ann.ask("GET", "/nowhere"), ann.ask("GET", "/docs")]
    others += [ann.ask("GET", f"/nowhere/{number}") for number in range(20)]
    others.append(ann.ask("POST", "/v1/events/gig/orders", raw="x" * 5_000))

    results = Counter("accepted" if reply.status == 202 else reply.problem for reply in replies)
    results["accepted"] -= 1
    results["repeated"] += 1
    assert counted(parts, ORDERS.name) == {(result,): number for result, number in results.items()}
    requests = counted(parts, REQUESTS.name)
    assert sum(requests.values()) == len(replies) + len(others)
    by_status: Counter[str] = Counter()
    for (_, status), number in requests.items():
        by_status[status] += int(number)
    assert by_status == Counter(str(reply.status) for reply in (*replies, *others))
    assert requests["none", "404"] == 21
    assert requests["none", "413"] == requests["docs", "200"] == 1
    assert len(requests) < 10, "a label never holds what a sender wrote"
    timed = parts.insight.watch.meter.read()[REQUEST_S.name]
    assert sum(one.count for one in timed.values()) == len(replies) + len(others)


@pytest.mark.parametrize("script", [Script({("accept", 1): Fault.THROTTLED})])
def test_a_throttle_is_counted_by_its_own_stable_code(ann: Client, parts: Parts, script: Schedule) -> None:
    """The problem's type names the kind of trouble, never the table that was at its limit."""
    assert ann.order().problem == "throttled"
    assert counted(parts, ORDERS.name) == {("throttled",): 1}


def test_on_lambda_each_answer_is_sent_to_cloudwatch(parts: Parts, capsys: pytest.CaptureFixture[str]) -> None:
    """EMF lines on standard output say what came since the last ones: no id, no buyer, and every count once."""
    watch = Watch(parts.clock)
    send = make_sender(Settings(metrics="emf", env="test"), watch.meter)
    ann = Client(build_app(replace(parts, insight=Insight(watch, send=send))), "ann", "buy")
    replies = [ann.order(key="a"), ann.order(key="a"), ann.order(0)]

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith('{"_aws"')]
    results = Counter({line["result"]: sum(line["orders"]) for line in lines if "orders" in line})
    assert results == {"accepted": 1, "repeated": 1, "invalid": 1}
    assert {line["service"] for line in lines} == {"onsale-test"}
    text = json.dumps(lines)
    assert replies[0].json["order_id"] not in text
    assert "ann" not in text
