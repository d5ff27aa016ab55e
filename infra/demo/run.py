"""The course of one demo: the order of things stands here, each step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from infra.cli.api import Api
from infra.demo.killer import Killer
from infra.demo.look import Look, look
from infra.demo.options import EVENT, DemoOptions
from infra.demo.show import Show
from infra.demo.stream import StreamCounts, count_stream
from infra.load.buyers import AT_ONCE_S
from infra.load.job import Job
from infra.load.receipts import read_receipts
from infra.load.stampede import Progress, Stampede, processes_for
from infra.load.summary import Summary, summarise
from infra.local.minting import mint
from infra.local.outside import folder_settings
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from infra.verify.run import Verification, verify
from shared.domain.errors import Unavailable
from shared.domain.sale import Sale
from shared.ports import Store
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_stats, open_store

STAFF = ("staff:read", "staff:write")
TICK_S = 0.1
LOOK_EVERY_S = 0.5
# Drained twice in a row, so that an order between two states is not overlooked.
STILL_LOOKS = 3
# Beyond this something hangs; the verification then says what.
PATIENCE_S = 240.0
BOTS_GO_HOME_WITHIN_S = 45.0


@dataclass(slots=True)
class Course:
    """What a run came to: everything the report is written from."""

    summary: Summary
    verification: Verification
    left_waiting_that_fit: int
    timed_out: bool
    stream: StreamCounts
    kills: int
    restarts: int
    seconds: dict[str, float] = field(default_factory=dict)


class Demo:
    """One run over a system that is up."""

    def __init__(self, options: DemoOptions, system: System, store: Store, show: Show) -> None:
        self._options = options
        self._system = system
        self._store = store
        self._show = show
        self._killer = Killer(system, options.seed) if options.kill_workers else None
        self._deadline_s = time.monotonic() + PATIENCE_S
        self._clock = SystemClock()
        self._looked: Look | None = None
        self._look_at_s = 0.0
        self.timed_out = False

    def run(self) -> Course:
        """Open, storm, drain, close, verify."""
        seconds: dict[str, float] = {}
        began_ms = self._clock.now_ms()
        receipts = self._options.data / "receipts.jsonl"
        with _Timed(seconds, "prepare"):
            api = self._api()
            api.call("POST", "/v1/staff/sales", body=self._definition())
            sale = self._store.get_sale(EVENT).sale
            crowd = Stampede(self._job(receipts), processes=processes_for(self._options.buyers))
            self._show.phase(f"{self._options.buyers:,} buyers get ready.")
            crowd.prepare()
        if self._killer is not None:
            self._killer = Killer(self._system, self._options.seed)
        with _Timed(seconds, "stampede"):
            self._show.phase(f"The sale is open: {self._options.buyers:,} buyers, {self._options.capacity:,} seats.")
            crowd.go()
            self._until(lambda: _all_placed(crowd.progress(), self._options.buyers), crowd, sale)
        with _Timed(seconds, "drain"):
            self._show.phase("Every buyer has an answer; seats, payments and expiring holds.")
            self._until(self._still(lambda seen: seen.drained), crowd, sale)
        fitting = self._looked.waiting_that_fit if self._looked is not None else 0
        with _Timed(seconds, "close"):
            self._show.phase("Drained; the sale closes.")
            api.call("POST", f"/v1/staff/sales/{EVENT}/close")
            self._until(self._still(lambda seen: seen.at_rest), crowd, sale)
        with _Timed(seconds, "go_home"):
            self._send_home(crowd, sale)
        with _Timed(seconds, "verify"):
            self._show.phase("Checking every invariant from outside.")
            verification = self._verify(receipts)
            stream = self._count_stream(began_ms, orders=len(verification.facts.orders))
        return Course(
            summary=summarise(receipts),
            verification=verification,
            stream=stream,
            left_waiting_that_fit=fitting,
            timed_out=self.timed_out,
            kills=0 if self._killer is None else self._killer.kills,
            restarts=self._system.restarts,
            seconds=seconds,
        )

    def _until(self, done: Callable[[], bool], crowd: Stampede, sale: Sale) -> None:
        """Let time pass, look after the system and show progress until something is so."""
        while not done():
            if time.monotonic() > self._deadline_s:
                self.timed_out = True
                return
            self._tick(crowd, sale)

    def _tick(self, crowd: Stampede, sale: Sale) -> None:
        time.sleep(TICK_S)
        self._system.supervise()
        if self._killer is not None:
            self._killer.strike_if_due()
        now_s = time.monotonic()
        if now_s - self._look_at_s >= LOOK_EVERY_S:
            self._looked, self._look_at_s = look(self._store, sale), now_s
            self._show.draw(crowd.progress(), self._looked, 0 if self._killer is None else self._killer.kills)

    def _still(self, holds: Callable[[Look], bool]) -> Callable[[], bool]:
        """Return a question that is answered yes once several looks in a row, each a new one, said so."""
        seen: list[Look] = []

        def answer() -> bool:
            latest = self._looked
            if latest is None or not holds(latest):
                seen.clear()
            elif not seen or latest is not seen[-1]:
                seen.append(latest)
            return len(seen) >= STILL_LOOKS

        self._looked = None
        return answer

    def _send_home(self, crowd: Stampede, sale: Sale) -> None:
        """Wait until all buyers have read their end; late ones are sent home with what they know."""
        crowd.tell_news()
        deadline_s = time.monotonic() + BOTS_GO_HOME_WITHIN_S
        while crowd.running and time.monotonic() < deadline_s:
            self._tick(crowd, sale)
        crowd.stop()
        crowd.finish()

    def _verify(self, receipts: Path) -> Verification:
        gateway = open_gateway(folder_settings(self._options.data), self._clock)
        return verify(self._store, gateway, EVENT, clock=self._clock, receipts=read_receipts(receipts))

    def _count_stream(self, since_ms: int, *, orders: int) -> StreamCounts:
        stats = open_stats(folder_settings(self._options.data), self._clock)
        try:
            return count_stream(stats, since_ms, self._clock.now_ms(), orders=orders)
        finally:
            stats.close()

    def _api(self) -> Api:
        if self._system.running is None:
            raise Unavailable("The system is not up.")
        return Api(self._system.running.url, mint(self._options.data, "staff-demo", STAFF))

    def _definition(self) -> dict[str, object]:
        options = self._options
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

    def _job(self, receipts: Path) -> Job:
        running = self._system.running
        if running is None:
            raise Unavailable("The system is not up.")
        return Job(
            url=running.url,
            event_id=EVENT,
            seed=self._options.seed,
            first=0,
            count=self._options.buyers,
            spread_s=AT_ONCE_S,
            within_s=PATIENCE_S,
            mix=self._options.mix,
            receipts=str(receipts),
            token_dir=str(self._options.data),
            payment_url=running.payment_url,
            publishable_key=running.publishable_key,
        )


def run_demo(options: DemoOptions, console: Console) -> Course:
    """Run one demo in a system of its own; errors of the system's families when it cannot even start."""
    began = time.monotonic()
    plan = Plan(options.data, options.store, options.workers)
    with Show(console, options.buyers, options.capacity) as show:
        show.phase("Starting API, workers, payment service and change pump.")
        with System(plan, lambda sentence: console.print(sentence, markup=False)) as system:
            started = time.monotonic()
            store = open_store(folder_settings(options.data), SystemClock(), SystemIds())
            try:
                course = Demo(options, system, store, show).run()
            finally:
                store.close()
    course.seconds = {"start": round(started - began, 2), **course.seconds}
    return course


def _all_placed(progress: Progress, buyers: int) -> bool:
    return progress.tally["accepted"] + progress.tally["refused"] >= buyers


class _Timed:
    """Writes down how long a block took."""

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds = seconds
        self._name = name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._name] = round(time.monotonic() - self._began, 2)
