"""The course of one demo: the order of things stands here, each step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from rich.console import Console

from consumers.reconcile.report import Report
from infra.cli.api import Api
from infra.demo.killer import Killer
from infra.demo.options import EVENT, DemoOptions
from infra.demo.outage import FAULTS, Outage
from infra.demo.settle import reconcile_until_settled
from infra.demo.show import Show
from infra.demo.stream import StreamCounts, count_stream
from infra.demo.watch import Watch
from infra.load.buyers import AT_ONCE_S
from infra.load.job import Job
from infra.load.receipts import read_receipts
from infra.load.stampede import Stampede, processes_for
from infra.load.summary import Summary, summarise
from infra.local.data_folder import Running
from infra.local.minting import mint
from infra.local.outside import folder_settings
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from infra.verify.read import patiently
from infra.verify.run import Verification, verify
from shared.ports.store import Store
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_stats, open_store

STAFF = ("staff:read", "staff:write")
# Beyond this something hangs; the verification then says what.
PATIENCE_S = 240.0
BOTS_GO_HOME_WITHIN_S = 45.0


@dataclass(slots=True)
class Course:
    """What a run came to: everything the report is written from. `seconds` are its phases."""

    options: DemoOptions
    seconds: dict[str, float] = field(default_factory=dict)
    waiting_that_fit: int = 0
    in_time: bool = True
    kills: int = 0
    restarts: int = 0
    outage_s: float = 0.0
    reconciled: list[Report] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Write down how long a block took."""
        began_s = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began_s, 2)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known after the end, from the three sides."""

    summary: Summary
    verification: Verification
    stream: StreamCounts


def run_demo(options: DemoOptions, console: Console) -> tuple[Course, Evidence]:
    """Run one demo in a system of its own; errors of the system's families when it cannot even start."""
    course = Course(options)
    faults = FAULTS if options.payment_chaos else {}
    plan = Plan(
        options.data,
        options.store,
        options.workers,
        payment_faults=faults,
        partition_limits=options.partition_limits,
    )
    system = System(plan, partial(console.print, markup=False))
    with Show(console, options.buyers, options.capacity) as show:
        show.phase("Starting API, workers, payment service and change pump.")
        try:
            with course.phase("start"):
                running = system.start()
            store = open_store(folder_settings(options.data), SystemClock(), SystemIds())
            try:
                began_ms = SystemClock().now_ms()
                _sell(course, system, running, store, show)
                with course.phase("verify"):
                    show.phase("Checking every invariant from outside.")
                    return course, _gather(options, store, began_ms)
            finally:
                store.close()
        finally:
            system.stop()


def _sell(course: Course, system: System, running: Running, store: Store, show: Show) -> None:
    """Open, storm, drain, close, and wait until everybody knows their end."""
    options = course.options
    deadline_s = time.monotonic() + PATIENCE_S
    with course.phase("prepare"):
        show.phase(f"{options.buyers:,} buyers get ready.")
        api = Api(running.url, mint(options.data, "staff-demo", STAFF))
        patiently(partial(api.call, "POST", "/v1/staff/sales", body=_definition(options)))
        sale = store.get_sale(EVENT).sale
        crowd = Stampede(_job(options, running), processes=processes_for(options.buyers))
        crowd.prepare()
    killer = Killer(system, options.seed) if options.kill_workers else None
    outage = Outage(system) if options.payment_chaos else None
    watch = Watch(system, store, sale, crowd, show, killer=killer, outage=outage)
    try:
        with course.phase("stampede"):
            show.phase(f"The sale is open: {options.buyers:,} buyers, {options.capacity:,} seats.")
            crowd.go()
            course.in_time &= watch.until(lambda: crowd.progress().answered >= options.buyers, deadline_s)
        with course.phase("drain"):
            show.phase("Every buyer has an answer; seats, payments and expiring holds.")
            if outage is not None:
                course.in_time &= watch.until(lambda: outage.over, deadline_s)
                course.outage_s = outage.lasted_s
            course.in_time &= watch.until_looks_agree(lambda seen: seen.drained, deadline_s)
            course.waiting_that_fit = watch.looked.waiting_that_fit if watch.looked is not None else 0
        with course.phase("close"):
            show.phase("Drained; the sale closes.")
            patiently(partial(api.call, "POST", f"/v1/staff/sales/{EVENT}/close"))
            course.in_time &= watch.until_looks_agree(lambda seen: seen.at_rest, deadline_s)
        with course.phase("reconcile"):
            show.phase("Comparing orders and payments, both ways.")
            gateway = open_gateway(folder_settings(options.data), SystemClock())
            course.reconciled = reconcile_until_settled(store, gateway, watch.pass_time)
        with course.phase("go_home"):
            crowd.tell_news()
            watch.until(lambda: not crowd.running, time.monotonic() + BOTS_GO_HOME_WITHIN_S)
    finally:
        crowd.stop()
    crowd.finish()
    course.kills, course.restarts = watch.kills, system.restarts


def _gather(options: DemoOptions, store: Store, began_ms: int) -> Evidence:
    clock = SystemClock()
    settings = folder_settings(options.data)
    gateway = open_gateway(settings, clock)
    verification = verify(store, gateway, EVENT, clock=clock, receipts=read_receipts(options.receipts))
    stats = open_stats(settings, clock)
    try:
        stream = count_stream(stats, began_ms, clock.now_ms(), orders=len(verification.facts.orders))
    finally:
        stats.close()
    return Evidence(summarise(options.receipts), verification, stream)


def _definition(options: DemoOptions) -> dict[str, object]:
    return one_pool_sale(
        EVENT,
        name="The Demo",
        seats=options.capacity,
        shards=options.shards,
        slices=options.slices,
        hold_ttl_s=options.hold_s,
        max_per_order=options.party_max,
        max_per_buyer=options.party_max,
    )


def _job(options: DemoOptions, running: Running) -> Job:
    return Job(
        url=running.url,
        event_id=EVENT,
        seed=options.seed,
        first=0,
        count=options.buyers,
        spread_s=AT_ONCE_S,
        within_s=PATIENCE_S,
        mix=options.mix,
        receipts=str(options.receipts),
        token_dir=str(options.data),
        payment_url=running.payment_url,
        publishable_key=running.publishable_key,
    )
