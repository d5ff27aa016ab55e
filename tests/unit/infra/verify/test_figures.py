"""The figures of a sale are counted, not hoped."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from infra.load.receipts import Answer, Kind
from infra.verify.figures import sale_figures
from shared.domain.order import Demand, Status
from tests.unit.infra.verify.house import HELD_AT_MS, House, order_id
from tests.unit.infra.verify.test_planted_faults import captured_twice, lost_order, negative_slice, unpaid_confirmed


def test_a_sale_that_went_well_has_clean_figures() -> None:
    """Eight sold, nothing that must not be."""
    figures = sale_figures(House().verify().facts)

    assert figures.clean
    assert figures.sold == 8
    assert figures.capacity == 10
    assert figures.by_status == {"confirmed": 8, "rejected": 4, "expired": 1}
    assert figures.overtaken == 0


def test_each_evil_is_counted() -> None:
    """Seats beyond capacity, lost orders, double charges and unpaid tickets are numbers above 0."""
    evils = {}
    for name, plant in {
        "oversold": negative_slice,
        "lost": lost_order,
        "double_charged": captured_twice,
        "unpaid_confirmed": unpaid_confirmed,
    }.items():
        house = House()
        plant(house)
        figures = sale_figures(house.verify().facts)
        evils[name] = getattr(figures, name)
        assert not figures.clean

    assert evils == {"oversold": 1, "lost": 1, "double_charged": 1, "unpaid_confirmed": 1}


def test_a_second_order_of_a_key_is_a_duplicate() -> None:
    """Two orders that came of one buyer's key count as one too many, superseded ones do not."""
    house = House()
    house.receive(1, order_ids=(order_id(1), order_id(10)))
    assert sale_figures(house.verify().facts).duplicate_orders == 1

    house.change(10, status=Status.SUPERSEDED)
    assert sale_figures(house.verify().facts).duplicate_orders == 0


def test_overtaken_counts_older_orders_of_equal_size_left_without_a_seat() -> None:
    """One of thirteen orders, older than the last one served, went away empty."""
    house = House()
    house.change(9, accepted_at_ms=1)

    assert sale_figures(house.verify().facts).overtaken == 1 / 13


def test_a_larger_party_behind_is_not_overtaken_by_smaller_ones() -> None:
    """Orders of different size are not compared."""
    house = House()
    house.change(9, accepted_at_ms=1, demand=(Demand("floor", 2, 0),))

    assert sale_figures(house.verify().facts).overtaken == 0


def test_a_waiting_order_that_fits_what_is_left_is_counted() -> None:
    """Two seats are left: a waiting order of two fits, one of three does not."""
    house = House()
    for number, seats in ((9, 2), (10, 3)):
        house.change(number, status=Status.QUEUED, reason=None, demand=(Demand("floor", seats, 0),))

    assert sale_figures(house.verify().facts).waiting_that_fit == 1


def test_the_pace_runs_from_the_first_order_to_the_last_decision() -> None:
    """Thirteen orders left the line between the first acceptance and the last rejection."""
    house = House()
    facts = house.verify().facts
    first = min(order.accepted_at_ms for order in facts.orders.values())

    figures = sale_figures(facts)

    assert figures.drained_per_s == 13 / ((HELD_AT_MS + 200 - first) / 1000)
    assert figures.drained_peak_per_s == 13
    assert sale_figures(dataclasses.replace(facts, orders={})).drained_per_s == 0


def test_a_request_answered_under_two_maps_is_one_order() -> None:
    """Q14: a repeat by a door with an older map was told another id; the copy that yielded breaks no promise."""
    house = House()
    own = house.order(10)
    house.change(10, buyer_id="buyer-1")
    house.receipts = [receipt for receipt in house.receipts if receipt.order_ids != (order_id(10),)]
    again = Answer(Kind.REPEAT, 60_000, 202, 5.0)
    house.receive(1, again, order_ids=(order_id(1), order_id(10)), last_status="confirmed")
    assert "I5" in {verdict.invariant for verdict in house.verify().broken}

    house.put(replace(own, buyer_id="buyer-1", status=Status.SUPERSEDED, reason=None))
    assert house.verify().broken == ()
