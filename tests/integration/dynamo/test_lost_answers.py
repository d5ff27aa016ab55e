"""Q8: a write was applied and its answer lost; the repeated call knows its own work, and nothing counts twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from shared.domain import transitions
from shared.domain.errors import AnswerLost
from shared.domain.order import Lane, Order, Reason, Status
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch
from tests.builders import make_order, make_sale
from tests.integration.dynamo.conftest import Bench

SALE = make_sale(pools=(Pool("floor", 1_000, 2),), max_per_buyer=4)
ORDER = make_order(quantity=2, op="a")
T = TypeVar("T")


def _lost_then_repeated(bench: Bench, call: Callable[[], T]) -> T:
    bench.road.lose_answer()
    with pytest.raises(AnswerLost):
        call()
    return call()


def _batch(bench: Bench) -> tuple[HoldBatch, Order]:
    bench.store.open_inventory(SALE)
    bench.store.accept(ORDER)
    hints = bench.store.due("gig", ORDER.key.shard, Lane.LINE, until_ms=9_999, limit=9).hints
    batch = HoldBatch("gig", "h", 5_000, 65_000, hints, {"floor": 0}, SALE.max_per_buyer)
    return batch, transitions.hold(ORDER, op="h", now_ms=5_000, hold_ends_at_ms=65_000, slices={"floor": 0})


def _forget_tokens(bench: Bench) -> None:
    """Take the transaction's token away, as the service does after ten minutes."""

    def strip(params: dict[str, object], **_: object) -> None:
        params.pop("ClientRequestToken", None)

    bench.store._calls._client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", strip)


def test_an_accepted_order_is_recognised(bench: Bench) -> None:
    """K7: the repeated request finds the order that its first attempt stored, as its own."""
    accepted = _lost_then_repeated(bench, lambda: bench.store.accept(ORDER))

    assert accepted.created
    assert accepted.order == ORDER


def test_a_saved_order_is_recognised(bench: Bench) -> None:
    """The stored operation says whose the newer version is."""
    bench.store.accept(ORDER)
    newer = transitions.reject(ORDER, op="b", now_ms=5_000, reason=Reason.SOLD_OUT)

    assert _lost_then_repeated(bench, lambda: bench.store.save(newer, seen_rev=1)).done


@pytest.mark.parametrize("with_token", [True, False])
def test_a_held_batch_is_recognised(bench: Bench, with_token: bool) -> None:
    """Seats and the buyer's counter move once, also after the service has forgotten the transaction's token."""
    batch, expected = _batch(bench)
    if not with_token:
        _forget_tokens(bench)

    assert _lost_then_repeated(bench, lambda: bench.store.hold_batch(batch)).held
    assert bench.store.get_order(ORDER.key) == expected
    assert bench.store.get_pool(SALE, "floor").taken == 2
    assert bench.store.buyer_counts("gig", ["ann"]) == {"ann": 2}


@pytest.mark.parametrize("with_token", [True, False])
@pytest.mark.parametrize("withhold", [True, False])
def test_released_seats_come_back_once(bench: Bench, withhold: bool, with_token: bool) -> None:
    """S3: to their slice, or to the withheld ones; the buyer's counter goes down once."""
    batch, order = _batch(bench)
    bench.store.hold_batch(batch)
    if not with_token:
        _forget_tokens(bench)
    ended = transitions.release(
        order, order.payment, op="r", now_ms=70_000, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
    )

    saved = _lost_then_repeated(
        bench, lambda: bench.store.release(ended, seen_rev=2, withhold=withhold, max_per_buyer=SALE.max_per_buyer)
    )

    pool = bench.store.get_pool(SALE, "floor")
    assert saved.done
    assert (pool.taken, pool.withheld, pool.balanced) == (0, 2 if withhold else 0, True)
    assert bench.store.buyer_counts("gig", ["ann"]) == {"ann": 0}


def test_seats_are_drawn_and_given_back_once(bench: Bench) -> None:
    """The token of the transaction recognises a repeated move."""
    bench.store.open_inventory(SALE)

    assert _lost_then_repeated(bench, lambda: bench.store.draw("gig", "floor", 0, 100, op="d"))
    assert [part.unsold for part in bench.store.get_pool(SALE, "floor").slices] == [350, 250]
    assert _lost_then_repeated(bench, lambda: bench.store.give_back("gig", "floor", 0, 350, op="g"))

    pool = bench.store.get_pool(SALE, "floor")
    assert [part.unsold for part in pool.slices] == [0, 250]
    assert (pool.unassigned, pool.balanced) == (750, True)


@pytest.mark.parametrize("with_token", [True, False])
def test_sold_out_is_decided_and_taken_back_once(bench: Bench, with_token: bool) -> None:
    """The round rises once, and the mark comes off once, whatever happened to the answers."""
    sale = make_sale(pools=(Pool("floor", 2),))
    bench.store.open_inventory(sale)
    bench.store.accept(ORDER)
    hints = bench.store.due("gig", ORDER.key.shard, Lane.LINE, until_ms=9_999, limit=9).hints
    bench.store.hold_batch(HoldBatch("gig", "h", 5_000, 65_000, hints, {"floor": 0}, None))
    if not with_token:
        _forget_tokens(bench)

    assert _lost_then_repeated(bench, lambda: bench.store.decide_sold_out(sale, "floor", seen_round=0, op="s"))
    assert bench.store.get_pool(sale, "floor").sold_out
    assert _lost_then_repeated(bench, lambda: bench.store.reopen_pool("gig", "floor", seen_round=1, op="o"))

    pool = bench.store.get_pool(sale, "floor")
    assert (pool.round, pool.sold_out) == (1, False)


def test_a_sale_is_created_and_changed_once(bench: Bench) -> None:
    """An equal stored sale is the writer's own."""
    changed = make_sale(name="The Other Gig", version=2)

    assert _lost_then_repeated(bench, lambda: bench.store.create_sale(make_sale())) == make_sale()
    assert _lost_then_repeated(bench, lambda: bench.store.save_sale(changed, seen_version=1))
    assert bench.store.get_sale("gig").sale == changed
