"""The counts of several processes as one page, over their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from infra.local.counts import Counts
from infra.local.metric_files import MetricFile, empty_metrics, metrics_folder, read_metrics
from infra.local.metrics_page import metrics_page
from shared.domain.throttling.request import OK, Ending, Request, Throttle
from shared.metering.snapshot import Snapshot, add_snapshots, read_snapshot, snapshot_of, snapshot_value
from shared.metering.watch import Watch
from shared.metrics import METRICS, ORDERS, REQUEST_S, STEPS, WAITING, Kind, prometheus_name
from tests.fakes.system import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """Return time that moves when told."""
    return FakeClock()


def samples(page: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Read a page by the library's own parser: sample name and labels to value."""
    families = text_string_to_metric_families(page)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def busy(clock: FakeClock, *, orders: int) -> Watch:
    """Make a process's counts with something of every kind in them."""
    watch = Watch(clock)
    watch.meter.count(ORDERS, "accepted", by=orders)
    watch.meter.count(STEPS, "held", by=orders)
    watch.meter.time(REQUEST_S, 0.02, "place_order")
    watch.meter.time(REQUEST_S, 99.0, "place_order")
    watch.meter.put(WAITING, orders)
    request = Request("PutItem", "orders", "", "gig#1", writes=True, demand={"gig#1": 1.0})
    watch.ledger.note(request, OK)
    watch.ledger.note(request, Ending("throttled", Throttle("orders", "", "gig#1", "Why")))
    return watch


def test_the_page_holds_the_list_and_nothing_else() -> None:
    """Every metric stands there with its type and meaning, whether or not anybody has counted it."""
    families = list(text_string_to_metric_families(metrics_page([], 0)))

    kinds = {Kind.COUNTER: "counter", Kind.GAUGE: "gauge", Kind.TIMES: "histogram"}
    assert [(family.name, family.documentation, family.type) for family in families] == [
        (prometheus_name(metric).removesuffix("_total"), metric.meaning, kinds[metric.kind]) for metric in METRICS
    ]


def test_processes_are_added_and_the_newest_gauge_counts(clock: FakeClock) -> None:
    """Counters and durations of all processes, a gauge of one, and how old each process's counts are."""
    first = snapshot_of("worker-1", busy(clock, orders=3), clock.now_ms())
    clock.advance(2)
    second = snapshot_of("worker-2", busy(clock, orders=5), clock.now_ms())
    clock.advance(1)

    read = samples(metrics_page([second, first], clock.now_ms()))
    assert read["onsale_orders_total", (("result", "accepted"),)] == 8
    assert read["onsale_orders_waiting", ()] == 5
    assert read["onsale_request_seconds_count", (("operation", "place_order"),)] == 4
    assert read["onsale_request_seconds_sum", (("operation", "place_order"),)] == 198.04
    assert read["onsale_request_seconds_bucket", (("le", "0.025"), ("operation", "place_order"))] == 2
    assert read["onsale_request_seconds_bucket", (("le", "+Inf"), ("operation", "place_order"))] == 4
    assert read["onsale_process_age_seconds", (("process", "worker-1"),)] == 3
    labels = (("index", ""), ("operation", "PutItem"), ("table", "orders"))
    assert read["onsale_store_attempts_total", labels] == 4


def test_a_snapshot_comes_back_from_its_file(tmp_path: Path, clock: FakeClock) -> None:
    """Whole: series, attempts, throttles, course and demand."""
    empty_metrics(tmp_path)
    watch = busy(clock, orders=2)
    MetricFile(tmp_path, "pump", watch, clock).write()

    (found,) = read_metrics(tmp_path)
    assert found == read_snapshot(snapshot_value(snapshot_of("pump", watch, clock.now_ms())))
    assert found.attempts == watch.ledger.read()
    assert read_metrics(tmp_path, without="pump") == ()


def test_a_process_that_starts_again_goes_on_counting(tmp_path: Path, clock: FakeClock) -> None:
    """Under its old name, so that no counter ever falls; a system that starts begins anew."""
    empty_metrics(tmp_path)
    total: list[Snapshot] = []
    for _ in range(3):
        counts = Counts(tmp_path, "API", clock)
        counts.watch.meter.count(ORDERS, "accepted", by=4)
        counts.watch.ledger.note(Request("PutItem", "orders", "", "gig#1", writes=True), OK)
        counts.close()
        total = list(read_metrics(tmp_path))

    assert samples(metrics_page(total, clock.now_ms()))["onsale_orders_total", (("result", "accepted"),)] == 12
    assert add_snapshots(total).total == 3
    empty_metrics(tmp_path)
    assert read_metrics(tmp_path) == ()


def test_what_is_no_snapshot_is_passed_over(tmp_path: Path, clock: FakeClock) -> None:
    """Half a file, another file, and no folder at all: the page is made of the others."""
    assert read_metrics(tmp_path) == ()
    empty_metrics(tmp_path)
    for name, text in (("a.json", "{"), ("b.json", "[]"), ("c.json", '{"process": "x"}'), ("d.txt", "x")):
        (metrics_folder(tmp_path) / name).write_text(text)
    MetricFile(tmp_path, "good", busy(clock, orders=1), clock).write()

    assert [snapshot.process for snapshot in read_metrics(tmp_path)] == ["good"]


def test_a_process_that_stands_alone_writes_nothing(tmp_path: Path, clock: FakeClock) -> None:
    """Without the folder of a system there is nobody to read it."""
    MetricFile(tmp_path, "alone", busy(clock, orders=1), clock).write()

    assert list(tmp_path.iterdir()) == []
