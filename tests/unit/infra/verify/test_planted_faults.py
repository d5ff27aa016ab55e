"""Every invariant turns false by the fault that breaks it, and no other invariant does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from infra.load.receipts import Answer, Kind
from infra.verify.run import CHECKS
from infra.verify.verdict import Truth
from shared.domain.money import Money
from shared.domain.order import Line, Reason, Seats, Status
from shared.domain.order_id import order_key
from shared.domain.orphan import make_orphan
from shared.domain.sale import SaleStatus
from tests.unit.infra.verify.house import (
    EXPIRED,
    HELD_AT_MS,
    House,
    confirmed_order,
    order_id,
    paid_intent,
    receipt_of,
    rejected_order,
)

INVARIANTS = [f"I{number}" for number in range(1, 10)]


def test_a_sale_that_went_well_is_true_in_every_point() -> None:
    """Nine verdicts, all true, each with a sentence that says by what it was checked."""
    verification = House().verify()

    assert verification.truths == dict.fromkeys(INVARIANTS, "true")
    assert all(verdict.because.startswith("Checked by ") for verdict in verification.verdicts)
    assert len(CHECKS) == len(INVARIANTS)


def oversold_counter(house: House) -> None:
    """The slice counts a seat more than its orders have."""
    floor = house.pools["floor"]
    part = floor.slices[0]
    house.pools["floor"] = replace(floor, slices=(replace(part, unsold=part.unsold - 1, taken=part.taken + 1),))


def lost_seat(house: House) -> None:
    """The pool's sum is not its capacity."""
    floor = house.pools["floor"]
    house.pools["floor"] = replace(floor, slices=(replace(floor.slices[0], unsold=1),))


def negative_slice(house: House) -> None:
    """More seats are taken than there are, and unsold is below zero."""
    for number in range(20, 23):
        house.confirm(number)
        house.change(number, accepted_at_ms=2_000)
        house.receipts.append(receipt_of(house.order(number)))
    house.counts = house.balanced_counts()
    house.pools["floor"] = house.balanced_pool()


def unknown_slice(house: House) -> None:
    """An order has its seat from a slice that does not exist."""
    house.change(1, seats=(Seats("floor", 5, 1),))
    house.pools["floor"] = replace(house.pools["floor"], slices=(replace(house.pools["floor"].slices[0]),))


def same_ticket_twice(house: House) -> None:
    """Two orders carry one ticket code."""
    house.change(2, tickets=house.order(1).tickets)


def missing_ticket(house: House) -> None:
    """A confirmed order has no ticket code for its seat."""
    house.change(2, tickets=())


def lost_order(house: House) -> None:
    """A rejected order that its buyer has a 202 for is not stored."""
    del house.orders[order_id(9)]


def stranded_order(house: House) -> None:
    """A held order has no duty left, so nobody will ever look at it again."""
    order = replace(house.order(EXPIRED), status=Status.HELD, reason=None)
    house.put(order)
    house.pools["floor"] = house.balanced_pool()
    house.counts = house.balanced_counts()


def forgotten_order(house: House) -> None:
    """The buyer's own order was not found after its 202."""
    house.receive(3, Answer(Kind.READ, 61_000, 404, 1.0, None, "not-found"))


def told_otherwise(house: House) -> None:
    """The buyer read "confirmed", the store says rejected."""
    house.receive(9, last_status="confirmed")


def two_orders_for_a_key(house: House) -> None:
    """One buyer's key led to two held orders by two attempts."""
    house.change(2, buyer_id="buyer-1")
    house.give_receipts()
    house.counts = house.balanced_counts()


def two_versions_held(house: House) -> None:
    """The same digest is held under two versions of the shard map."""
    house.sale = replace(house.sale, shard_counts=(4, 4))
    twin = order_key("gig", (1).to_bytes(16, "big"), (4, 4), 2)
    order = confirmed_order(1)
    house.put(replace(order, key=twin, tickets=("another",)))
    house.intents["pi_twin"] = paid_intent("pi_twin", house.orders[twin.order_id])
    house.pools["floor"] = house.balanced_pool()
    house.counts = house.balanced_counts()


def shared_answer(house: House) -> None:
    """Two bodies under one key were given the same order."""
    house.receipts.append(dataclasses.replace(receipt_of(house.order(4)), body_sha256="cd" * 32))


def captured_twice(house: House) -> None:
    """The intent was captured for twice its amount."""
    house.intents["pi_1"] = replace(house.intents["pi_1"], captured_minor=5_000)


def unpaid_confirmed(house: House) -> None:
    """A confirmed order has no money behind it."""
    del house.intents["pi_5"]


def wrong_amount(house: House) -> None:
    """The intent asks for another currency's amount."""
    house.intents["pi_1"] = replace(house.intents["pi_1"], amount=Money(2_500, "USD"))


def kept_money(house: House) -> None:
    """An expired order's buyer paid, and nothing is on its way back."""
    house.intents["pi_0"] = paid_intent("pi_0", house.order(EXPIRED))


def refunded_too_much(house: House) -> None:
    """More was given back than was taken."""
    house.intents["pi_0"] = paid_intent("pi_0", house.order(EXPIRED), captured_minor=0, refunded_minor=1)


def paid_without_order(house: House) -> None:
    """Money came in under our tag for an order that is not stored."""
    house.intents["pi_99"] = paid_intent("pi_99", confirmed_order(99))


def repeated_into_another(house: House) -> None:
    """A repeated request was answered with a second order, which was then rejected."""
    house.receive(1, order_ids=(order_id(1), order_id(10)), last_status="rejected")
    house.change(10, buyer_id="buyer-1")
    house.receipts = [one for one in house.receipts if one.buyer_id != "buyer-10"]


def passed_over(house: House) -> None:
    """An order was turned away though it had waited half a minute longer than one that was served."""
    house.change(9, accepted_at_ms=2_000)
    house.change(8, accepted_at_ms=HELD_AT_MS - 1_000)


def over_buyer_limit(house: House) -> None:
    """Three tickets went to one buyer of a sale that allows two."""
    for number in (1, 2, 3):
        house.change(number, buyer_id="greedy")
        house.receive(number, buyer_id="greedy", key=f"key-{number}")
    house.counts = house.balanced_counts()


def over_order_limit(house: House) -> None:
    """A rejected order has more tickets than an order may have."""
    house.change(9, lines=(Line("standing", 3, 2_500),))


def wrong_counter(house: House) -> None:
    """A buyer's counter does not say what their orders say."""
    house.counts["buyer-1"] = 2


def server_error(house: House) -> None:
    """The door once answered 500."""
    house.receive(1, Answer(Kind.READ, 60_500, 500, 1.0, None, "internal"))


def bare_refusal(house: House) -> None:
    """The door answered 503 without saying when to come back."""
    house.receive(1, Answer(Kind.PLACE, 2_000, 503, 1.0, None, "busy"))


def foreign_read(house: House) -> None:
    """A buyer was shown another buyer's order."""
    house.receive(1, Answer(Kind.FOREIGN, 60_500, 200, 1.0))


def open_staff_door(house: House) -> None:
    """A buyer's token opened a staff route."""
    house.receive(1, Answer(Kind.STAFF, 60_500, 200, 1.0))


@pytest.mark.parametrize(
    ("plant", "broken"),
    [
        (oversold_counter, "I1"),
        (lost_seat, "I1"),
        (negative_slice, "I1"),
        (unknown_slice, "I1"),
        (same_ticket_twice, "I1"),
        (missing_ticket, "I1"),
        (lost_order, "I2"),
        (stranded_order, "I2"),
        (forgotten_order, "I2"),
        (told_otherwise, "I2"),
        (two_orders_for_a_key, "I3"),
        (two_versions_held, "I3"),
        (shared_answer, "I3"),
        (captured_twice, "I4"),
        (unpaid_confirmed, "I4"),
        (wrong_amount, "I4"),
        (kept_money, "I4"),
        (refunded_too_much, "I4"),
        (paid_without_order, "I4"),
        (repeated_into_another, "I5"),
        (passed_over, "I6"),
        (over_buyer_limit, "I7"),
        (over_order_limit, "I7"),
        (wrong_counter, "I7"),
        (server_error, "I8"),
        (bare_refusal, "I8"),
        (foreign_read, "I9"),
        (open_staff_door, "I9"),
    ],
)
def test_a_planted_fault_turns_its_invariant_false_and_no_other(plant: Callable[[House], None], broken: str) -> None:
    """The invariant that the fault breaks is false with an example; every other one stays true."""
    house = House()
    plant(house)

    verification = house.verify()

    assert [verdict.invariant for verdict in verification.broken] == [broken]
    assert verification.broken[0].examples
    assert {name for name, truth in verification.truths.items() if truth != Truth.TRUE} == {broken}


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(lambda house: house.receive(9, last_status="queued"), id="an older status was read last"),
        pytest.param(lambda house: house.receive(1, Answer(Kind.READ, 61_000, 0, 1.0)), id="an answer that never came"),
        pytest.param(
            lambda house: house.receive(1, Answer(Kind.PLACE, 2_000, 503, 1.0)), id="a gateway's own bare 503"
        ),
        pytest.param(
            lambda house: house.intents.update(pi_x=paid_intent("pi_x", confirmed_order(77), order_key=None)),
            id="an intent without our tag",
        ),
        pytest.param(
            lambda house: (
                house.change(
                    9, status=Status.CANCELLED, reason=Reason.BUYER_CANCELLED, accepted_at_ms=HELD_AT_MS - 5_000
                )
                or house.receive(9, last_status="cancelled")
            ),
            id="an order cancelled in the line",
        ),
        pytest.param(
            lambda house: house.put(replace(rejected_order(9), accepted_at_ms=1, reason=Reason.OVER_BUYER_LIMIT)),
            id="an old order over its buyer's limit",
        ),
    ],
)
def test_what_is_no_fault_stays_true(harmless: Callable[[House], object]) -> None:
    """What may happen in a right sale turns nothing false."""
    house = House()
    harmless(house)

    assert house.verify().truths == dict.fromkeys(INVARIANTS, "true")


def test_without_receipts_and_books_only_the_store_speaks() -> None:
    """What only clients or the payment service know is unchecked, never true."""
    truths = House().verify(books=False, receipts=False).truths

    assert {name for name, truth in truths.items() if truth == "true"} == {"I1", "I6", "I7"}
    assert {name for name, truth in truths.items() if truth == "unchecked"} == {"I2", "I3", "I4", "I5", "I8", "I9"}


def test_orders_under_way_leave_their_end_unchecked() -> None:
    """An accepted order that still waits is neither lost nor done."""
    house = House()
    house.sale = replace(house.sale, status=SaleStatus.ACTIVE)
    house.change(9, status=Status.QUEUED, reason=None, accepted_at_ms=HELD_AT_MS)
    house.receive(9, last_status="queued")

    truths = house.verify().truths

    assert truths.pop("I2") == "unchecked"
    assert set(truths.values()) == {"true"}


@pytest.mark.parametrize(("refunded_minor", "truth"), [(2_500, "true"), (2_499, "false")])
def test_an_orphan_owes_all_that_came_for_it(refunded_minor: int, truth: str) -> None:
    """A stand-in for an order that never was has no amount of its own; the money must be back to the last cent."""
    house = House()
    lost = rejected_order(30)
    orphan = make_orphan(lost.key, intent_id="pi_30", currency="EUR", op="o", now_ms=60_000)
    house.put(replace(orphan, duties={}))
    paid = paid_intent("pi_30", lost)
    house.intents["pi_30"] = replace(paid, refunded_minor=refunded_minor)
    house.counts = house.balanced_counts()

    truths = house.verify().truths

    assert truths["I4"] == truth
    assert {value for name, value in truths.items() if name != "I4"} == {"true"}
