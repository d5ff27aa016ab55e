"""Does the door notice that the payment service is in trouble? Interleaved runs over one running system."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from threading import local
from typing import Any
from urllib.parse import urlsplit

from infra.bench.trouble import Trouble
from infra.cli.api import Api
from infra.local.data_folder import Running
from infra.local.minting import DAY_S, mint, open_mint
from infra.local.outside import folder_settings
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from infra.verify.read import patiently
from shared.domain.order import Lane
from shared.ports.store import Store
from shared.system import SystemClock, SystemIds
from shared.wiring import open_store

MOST_RATIO = 1.2
MOST_DIFFERENCE_MS = 3.0
SLOW_S = 5.0
SENDERS = 24
SHARDS = 8
# A run begins when what the one before left behind is done.
REST_WITHIN_S = 90.0
PAYMENT = "payment service"
HUNDREDTH = 99
ACCEPTED = 202


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench: how many pairs of runs, and what a run is."""

    data: Path
    pairs: int
    orders: int
    per_s: float
    trouble: Trouble
    workers: int
    store: str


@dataclass(frozen=True, slots=True)
class Result:
    """The p99 of accepting an order, in ms, run by run."""

    trouble: Trouble
    healthy_ms: tuple[float, ...]
    troubled_ms: tuple[float, ...]
    refused: int

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios."""
        return median(bad / good for good, bad in zip(self.healthy_ms, self.troubled_ms, strict=True))

    @property
    def difference_ms(self) -> float:
        """The median of the pairs' differences."""
        return median(bad - good for good, bad in zip(self.healthy_ms, self.troubled_ms, strict=True))

    @property
    def kept(self) -> bool:
        """Say whether the promise holds: nothing refused, and no slower than allowed."""
        return self.refused == 0 and (self.ratio <= MOST_RATIO or self.difference_ms <= MOST_DIFFERENCE_MS)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-ready."""
        return {
            "trouble": str(self.trouble),
            "kept": self.kept,
            "ratio": round(self.ratio, 3),
            "difference_ms": round(self.difference_ms, 3),
            "accept_ms_p99_healthy": [round(ms, 3) for ms in self.healthy_ms],
            "accept_ms_p99_troubled": [round(ms, 3) for ms in self.troubled_ms],
            "refused": self.refused,
            "most_ratio": MOST_RATIO,
            "most_difference_ms": MOST_DIFFERENCE_MS,
        }


def run(bench: Bench, say: Callable[[str], None]) -> Result:
    """Run the pairs over one system; errors of the system's families when it cannot start."""
    healthy: list[float] = []
    troubled: list[float] = []
    refused = 0
    system = System(Plan(bench.data, bench.store, bench.workers), say)
    running = system.start()
    try:
        store = open_store(folder_settings(bench.data), SystemClock(), SystemIds())
        try:
            # What is loaded and cached by the first orders belongs to no run.
            _measure(bench, running, store, "warm-up")
            for pair in range(bench.pairs):
                for bad in (pair % 2 == 1, pair % 2 == 0):
                    if bad:
                        _begin_trouble(bench, system, running)
                    times = _measure(bench, running, store, f"pair-{pair}-{'bad' if bad else 'good'}")
                    if bad:
                        _end_trouble(bench, system, running)
                    refused += bench.orders - len(times)
                    (troubled if bad else healthy).append(p99(times))
                    _rest(store)
                say(f"Pair {pair + 1}: p99 {healthy[-1]:.1f} ms healthy, {troubled[-1]:.1f} ms {bench.trouble}.")
        finally:
            store.close()
    finally:
        system.stop()
    return Result(bench.trouble, tuple(healthy), tuple(troubled), refused)


def p99(times_ms: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return quantiles(times_ms, n=100, method="inclusive")[HUNDREDTH - 1]


# --- one run ----------------------------------------------------------------------------------------------------------


def _measure(bench: Bench, running: Running, store: Store, event: str) -> list[float]:
    """Send the orders of one run at an even pace, each a buyer's of its own; return what each 202 took, in ms."""
    staff = Api(running.url, mint(bench.data, "staff-bench", ("staff:read", "staff:write")))
    definition = one_pool_sale(event, name="Isolation", seats=bench.orders * 2, shards=SHARDS, hold_ttl_s=600)
    patiently(partial(staff.call, "POST", "/v1/staff/sales", body=definition))
    kind = store.get_sale(event).sale.ticket_types[0].ticket_type_id
    body = json.dumps({"lines": [{"ticket_type_id": kind, "quantity": 1}], "payment_method": "pm_card_visa"}).encode()
    door = open_mint(bench.data)
    tokens = [door.mint(f"buyer-{number}", ("buy",), DAY_S) for number in range(bench.orders)]
    lines = local()
    begins_s = time.perf_counter() + 0.2

    def send(number: int) -> float | None:
        time.sleep(max(0.0, begins_s + number / bench.per_s - time.perf_counter()))
        return _order(lines, running.url, event, tokens[number], body)

    with ThreadPoolExecutor(SENDERS) as senders:
        return [took for took in senders.map(send, range(bench.orders)) if took is not None]


def _order(lines: local, url: str, event: str, token: str, body: bytes) -> float | None:
    if not hasattr(lines, "line"):
        parts = urlsplit(url)
        lines.line = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        lines.line.connect()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    began_s = time.perf_counter()
    lines.line.request("POST", f"/v1/events/{event}/orders", body, headers)
    answer = lines.line.getresponse()
    answer.read()
    return (time.perf_counter() - began_s) * 1000 if answer.status == ACCEPTED else None


# --- trouble ----------------------------------------------------------------------------------------------------------


def _begin_trouble(bench: Bench, system: System, running: Running) -> None:
    if bench.trouble is Trouble.DEAD:
        system.take_down(PAYMENT)
    else:
        _turn(running, SLOW_S)


def _end_trouble(bench: Bench, system: System, running: Running) -> None:
    if bench.trouble is Trouble.DEAD:
        system.bring_back(PAYMENT)
    else:
        _turn(running, 0.0)


def _turn(running: Running, latency_s: float) -> None:
    body = json.dumps({"latency_s": latency_s}).encode()
    with urllib.request.urlopen(f"{running.payment_url}/_control/faults", body, timeout=30):  # noqa: S310 - our own
        return


def _rest(store: Store) -> None:
    """Wait until every order has come to its end, so that the next run starts from the same place."""
    deadline_s = time.monotonic() + REST_WITHIN_S
    while time.monotonic() < deadline_s:
        lanes = [
            store.depth(view.sale.event_id, shard, lane, most=1)
            for view in patiently(store.list_sales)
            for shard in range(SHARDS)
            for lane in (Lane.LINE, Lane.TIMER)
        ]
        if not any(lanes):
            return
        time.sleep(0.5)
