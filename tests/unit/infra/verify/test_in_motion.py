"""A store that changes while it is read is never called broken for it."""

from __future__ import annotations

from msgspec.structs import replace

from infra.verify.read import MAX_PASSES
from shared.domain.inventory import SliceState
from shared.domain.order import Duty, PaymentState, Status
from tests.unit.infra.verify.house import EXPIRED, House, order_id, paid_intent


def _move(house: House, taken: int) -> None:
    floor = house.pools["floor"]
    version = floor.slices[0].version + 1
    house.pools["floor"] = replace(floor, slices=(SliceState(0, 10 - taken, taken, version),))


def test_a_slice_that_settles_is_read_again_and_found_right() -> None:
    """One change in the midst of the reading costs one more pass."""
    house = House()
    changes = iter([True])

    def sell_one() -> None:
        if next(changes, False):
            house.confirm(20)
            house.counts = house.balanced_counts()
            _move(house, 9)

    house.on_read = sell_one

    assert house.verify().truths["I1"] == "true"


def test_a_slice_that_never_settles_is_unchecked() -> None:
    """After a bounded number of passes the seats are unchecked, not false."""
    house = House()
    reads = []

    def keep_moving() -> None:
        reads.append(1)
        _move(house, 8)

    house.on_read = keep_moving

    assert house.verify().truths["I1"] == "unchecked"
    pages = 8
    assert len(reads) <= MAX_PASSES * pages + 10


def test_money_that_came_between_two_readings_is_read_again() -> None:
    """An intent paid after its order was read is settled by reading both once more."""
    house = House()
    house.change(1, status=Status.EXPIRED)
    house.pools["floor"] = house.balanced_pool()
    house.counts = house.balanced_counts()
    house.receive(1, last_status=None)
    late = iter([False] * 7 + [True])

    def refund() -> None:
        if next(late, False):
            house.intents["pi_1"] = replace(house.intents["pi_1"], refunded_minor=2_500)

    house.on_read = refund

    assert house.verify().truths["I4"] == "true"


def test_an_order_that_keeps_changing_is_unchecked() -> None:
    """Where order and intent never stand still together nothing is said of them."""
    house = House()
    del house.intents["pi_1"]

    def touch() -> None:
        house.change(1, rev=house.order(1).rev + 1)

    house.on_read = touch

    assert house.verify().truths["I4"] == "unchecked"


def test_a_refund_on_its_way_is_no_fault() -> None:
    """Money of an order without seats may still be here while its refund is due."""
    house = House()
    house.intents["pi_0"] = paid_intent("pi_0", house.order(EXPIRED))
    payment = replace(house.order(EXPIRED).payment, captured_minor=2_500, refund_due_minor=2_500)
    house.change(EXPIRED, payment=payment, duties={Duty.REFUND: 90_000})

    assert house.verify().truths["I4"] == "true"


def test_a_hold_whose_try_is_under_way_is_no_fault() -> None:
    """A held order may have been charged without being confirmed yet."""
    house = House()
    payment = replace(house.order(1).payment, state=PaymentState.OPEN, captured_minor=0)
    house.change(1, status=Status.HELD, payment=payment, tickets=(), duties={Duty.PAY: 1, Duty.HOLD_END: 90_000})
    house.receive(1, last_status="held")

    truths = house.verify().truths

    assert truths["I4"] == "true"
    assert truths["I2"] == "unchecked"


def test_an_order_accepted_after_its_shard_was_read_is_found() -> None:
    """A receipt newer than the reading of its shard is looked up by its id."""
    house = House()
    kept = house.orders.pop(order_id(9))
    reads = iter([False] * 7 + [True])

    def store_late() -> None:
        if next(reads, False):
            house.put(kept)

    house.on_read = store_late

    assert house.verify().truths["I2"] == "true"
