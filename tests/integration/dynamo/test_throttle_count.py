"""The throttles we report are those that were really answered."""

from __future__ import annotations

import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from shared.domain.errors import NotFound, Unavailable
from shared.domain.order import Lane
from shared.metering.watch import Watch
from shared.ports.store import Store
from shared.retry import RetryPolicy
from shared.settings import Settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_stats, open_store
from tests.builders import make_order, make_sale
from tests.contract.steps import batch_of
from tests.fakes.throttling_endpoint import throttling_endpoint

QUICK = RetryPolicy(base_s=0.0005, cap_s=0.001, budget=10_000)


def use(store: Store, number: int) -> None:
    """Use every kind of call once; what is refused to the end is no matter here."""
    order, sale = make_order(number, buyer=f"buyer-{number}"), make_sale()
    calls = (
        lambda: store.accept(order),
        lambda: store.get_order(order.key),
        lambda: store.due("gig", number % 4, Lane.LINE, until_ms=10_000, limit=10),
        lambda: store.buyer_counts("gig", [order.buyer_id, "somebody"]),
        lambda: store.hold_batch(batch_of([order], max_per_buyer=3)),
        lambda: store.get_pool(sale, "floor"),
        store.members,
    )
    for call in calls:
        with contextlib.suppress(Unavailable, NotFound):
            call()


def test_the_rate_we_report_is_the_rate_we_were_answered() -> None:
    """Difference 0, in all, by reason and whatever the retries: eight threads, a quarter of all requests refused."""
    clock = SystemClock()
    watch = Watch(clock)
    with throttling_endpoint(seed=7, share=0.25) as (url, truth):
        settings = Settings(store="dynamodb", dynamodb_url=url)
        store = open_store(settings, clock, SystemIds(), policy=QUICK, watch=watch)
        stats = open_stats(settings, clock, watch=watch)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: use(store, number), range(60)))
        for _ in range(20):
            with contextlib.suppress(Unavailable):
                stats.list_marks(now_ms=0)
        store.close()
        stats.close()

    counted = watch.ledger.read()
    reasons: Counter[str] = Counter()
    for key, throttled in counted.throttles.items():
        reasons[key[4]] += throttled.count
    assert truth.answers > 300
    assert len(truth.throttled) > 3
    assert counted.total - truth.answers == 0
    assert counted.throttled - truth.throttled.total() == 0
    assert reasons == truth.throttled
    assert counted.rate == truth.throttled.total() / truth.answers
    assert sum(bucket.throttled for bucket in counted.buckets.values()) == counted.throttled
    assert not any("buyer-" in part for key in counted.throttles for part in key)
    assert {key[0] for key in counted.rows} == {"orders", "inventory", "control", "stats"}
