"""The measurement of what orders cost, small, and how it counts what no answer counts."""

from __future__ import annotations

from infra.bench.cost import TARGETS, measure_orders
from infra.bench.units import UnitBook
from infra.local.ministack import REGION
from shared.domain import transitions
from shared.ports.inventory import HoldBatch
from shared.stores.dynamo.client import Spent, connect
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from tests.builders import make_order, make_sale
from tests.contract.steps import hint


def test_a_small_run_keeps_what_is_promised(ministack: str) -> None:
    """Units of a sold, a limited and a rejected order, and of the key that takes them in."""
    figures, steps = measure_orders(ministack, orders=98, prefix="cost-test", say=lambda _: None)

    assert all(figures[name] <= TARGETS[name] for name in figures)
    assert figures["write_units_hot_key"] == figures["write_units_hot_key_index"] == 1
    assert figures["write_units_per_sold_order"] > 8
    assert steps["sold: settle"].read_units == 98


def test_what_no_answer_counts_is_counted_by_the_rule(ministack: str) -> None:
    """A failed condition costs what stood in its way, a cancelled transaction two for each action."""
    client = connect(REGION, ministack)
    tables = Tables("cost-rule")
    create_tables(client, tables)

    def count(_: Spent) -> None:
        """Ask for counts."""

    store = DynamoStore(client, tables, count)
    book = UnitBook(client, tables.prefix)
    sale = make_sale()
    store.open_inventory(sale)
    order = make_order(1, op="a")
    store.accept(order)

    book.begin("repeat")
    store.accept(make_order(1, op="b"))
    book.begin("late")
    store.save(transitions.cancel_queued(order, op="c", now_ms=1), seen_rev=7)
    book.begin("hold")
    store.hold_batch(HoldBatch("gig", "h", 1, 9, (hint(order), hint(make_order(2))), {"floor": 0}, None))
    book.begin("pool")
    store.get_pool(sale, "floor")

    assert {name: dict(step.failed) for name, step in book.steps.items() if step.failed} == {
        "repeat": {"orders": 1},
        "late": {"orders": 1},
        "hold": {"orders": 4, "inventory": 2},
    }
    assert book.steps["hold"].writes == book.steps["hold"].failed
    assert book.steps["pool"].reads == {"inventory": 2}
    delete_tables(client, tables)
    store.close()
