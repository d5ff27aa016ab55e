"""What an order costs, as the service counts it."""

from __future__ import annotations

import pytest

from shared.domain import transitions
from shared.domain.order import Lane, Payment, PaymentState
from shared.domain.sale import Pool
from shared.ports.inventory import HoldBatch
from tests.builders import make_order, make_sale
from tests.integration.dynamo.conftest import Bench


def _writes(bench: Bench) -> tuple[float, float]:
    """Return the units spent since the last look: of tables and of indexes."""
    tables = sum(part.table_units for part in bench.spent)
    indexes = sum(sum(part.index_units.values()) for part in bench.spent)
    bench.spent.clear()
    return tables, indexes


def test_accepting_a_usual_order_costs_one_unit_and_one_of_the_index(bench: Bench) -> None:
    """One conditional write of at most 1 KiB, whose index entry is as small; a repeated one costs no more."""
    bench.store.accept(make_order(holder="Jørgen Æther-Villanueva", op="0123456789abcdef"))

    assert _writes(bench) == (1, 1)


@pytest.mark.parametrize(("limit", "units"), [(None, 8 + 2 / 49), (4, 10 + 2 / 49)])
def test_the_life_of_an_order_costs_what_the_plan_says(bench: Bench, limit: int | None, units: float) -> None:
    """Accepted, held with 48 others, confirmed: 8.04 write units an order, 10.04 with a limit per buyer."""
    bench.store.open_inventory(make_sale(pools=(Pool("floor", 100),)))
    orders = [make_order(4 * n, buyer=f"buyer-{n}", op=f"a{n}") for n in range(1, 50)]
    bench.spent.clear()

    for order in orders:
        bench.store.accept(order)
    spent = sum(_writes(bench))
    hints = bench.store.due("gig", 0, Lane.LINE, until_ms=9_999, limit=50).hints
    bench.spent.clear()
    bench.store.hold_batch(HoldBatch("gig", "h", 5_000, 65_000, hints, {"floor": 0}, limit))
    spent += sum(_writes(bench))
    for order in orders:
        held = transitions.hold(order, op="h", now_ms=5_000, hold_ends_at_ms=65_000, slices={"floor": 0})
        paid = Payment(method="pm_card_visa", attempt=1, state=PaymentState.PAID, captured_minor=2_500)
        confirmed = transitions.confirm(held, paid, op="c", now_ms=6_000, tickets=("ticket-code",))
        assert bench.store.save(confirmed, seen_rev=held.rev).done
    spent += sum(_writes(bench))

    assert spent / 49 == pytest.approx(units)


def test_what_is_done_costs_the_index_nothing_more(bench: Bench) -> None:
    """The index projects only what never changes: a change of an order outside it costs the table alone."""
    order = transitions.cancel_queued(make_order(op="a"), op="b", now_ms=3_000)
    bench.store.accept(make_order(op="a"))
    bench.store.save(order, seen_rev=1)
    bench.spent.clear()

    bench.store.save(transitions.note_payment(order, Payment(), {}, op="c", now_ms=4_000), seen_rev=2)

    assert _writes(bench) == (1, 0)


def test_nothing_is_counted_where_nobody_counts(ministack: str, bench: Bench) -> None:
    """Without an observer the service is not asked to count."""
    bench.store._calls._observer = None

    bench.store.get_order(make_order().key)

    assert "ReturnConsumedCapacity" not in bench.road.requests[-1]
