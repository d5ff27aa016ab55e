"""Orders in the hands of programs outside: receipts, and what a late one may still do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from shared.domain import handing_out, transitions
from shared.domain.errors import Conflicting, NotFound
from shared.domain.order import Duty, Lane, Order
from shared.domain.taken import Receipt, Stage, read_receipt
from shared.domain.trouble import MAX_HISTORY, MAX_NOTE_CHARS
from shared.stores.items import order_item
from shared.stores.limits import whole_item_bytes
from tests.builders import make_order

NOW = 50_000


def ready() -> Order:
    """Confirm an order that is to be fulfilled."""
    held = transitions.hold(make_order(), op="h", now_ms=NOW, hold_ends_at_ms=NOW + 60_000, slices={"floor": 0})
    return transitions.confirm(held, held.payment, op="c", now_ms=NOW, tickets=("code",), fulfilment=True)


def parked() -> Order:
    """Set a queued order aside."""
    return transitions.park(make_order(), op="p", now_ms=NOW, error="It broke.")


CASES = pytest.mark.parametrize(
    ("make", "stage", "lane"),
    [(ready, Stage.FULFILMENT, Lane.FULFIL), (parked, Stage.PARKED, Lane.PARKED)],
    ids=["fulfilment", "parked"],
)
Make = Callable[[], Order]


@CASES
def test_a_taken_order_is_hidden_and_comes_back_by_itself(make: Make, stage: Stage, lane: Lane) -> None:
    """It stands in its lane under the end of its hiding, and can be taken again from then on."""
    taken = handing_out.take(make(), stage, op="t1", now_ms=NOW, until_ms=NOW + 10_000)

    assert taken.work == (lane, NOW + 10_000)
    assert not handing_out.can_be_taken(taken, stage, NOW + 9_999)
    with pytest.raises(Conflicting):
        handing_out.take(taken, stage, op="t2", now_ms=NOW + 9_999, until_ms=NOW + 99_999)
    assert handing_out.can_be_taken(taken, stage, NOW + 10_000)


@CASES
def test_q18_a_receipt_counts_until_another_has_the_order(make: Make, stage: Stage, lane: Lane) -> None:
    """Q18: after another took it, the first can do nothing; before that, time alone takes nothing away."""
    first = handing_out.take(make(), stage, op="t1", now_ms=NOW, until_ms=NOW + 10_000)
    late = handing_out.complete(first, stage, "t1", op="d", now_ms=NOW + 20_000)
    second = handing_out.take(first, stage, op="t2", now_ms=NOW + 20_000, until_ms=NOW + 30_000)

    assert late.work is None or late.work[0] is not lane
    acts: list[Callable[[], Order]] = [
        lambda: handing_out.complete(second, stage, "t1", op="x", now_ms=NOW),
        lambda: handing_out.extend(second, stage, "t1", op="x", now_ms=NOW, until_ms=NOW + 1),
        lambda: handing_out.give_back(second, stage, "t1", op="x", now_ms=NOW),
    ]
    for act in acts:
        with pytest.raises(Conflicting) as refused:
            act()
        assert refused.value.reason == "receipt-superseded"


@CASES
def test_repeats_have_one_effect(make: Make, stage: Stage, lane: Lane) -> None:
    """Completing or giving back again under the same receipt changes nothing."""
    taken = handing_out.take(make(), stage, op="t1", now_ms=NOW, until_ms=NOW + 10_000)
    back = handing_out.give_back(taken, stage, "t1", op="g", now_ms=NOW + 1)
    done = handing_out.complete(taken, stage, "t1", op="d", now_ms=NOW + 1)

    assert back.work == (lane, NOW + 1)
    assert handing_out.give_back(back, stage, "t1", op="g2", now_ms=NOW + 2) is back
    assert handing_out.complete(done, stage, "t1", op="d2", now_ms=NOW + 2) is done
    with pytest.raises(Conflicting):
        handing_out.extend(done, stage, "t1", op="e", now_ms=NOW + 2, until_ms=NOW + 99)


@CASES
def test_extending_counts_from_the_given_time(make: Make, stage: Stage, lane: Lane) -> None:
    """The order stays hidden under the same receipt until the new time."""
    taken = handing_out.take(make(), stage, op="t1", now_ms=NOW, until_ms=NOW + 10_000)
    longer = handing_out.extend(taken, stage, "t1", op="e", now_ms=NOW + 5_000, until_ms=NOW + 60_000)

    assert longer.work == (lane, NOW + 60_000)
    assert handing_out.complete(longer, stage, "t1", op="d", now_ms=NOW + 6_000).rev == longer.rev + 1


def test_a_refund_comes_before_the_program_outside() -> None:
    """While a duty of ours is open the order stands in our lane; the receipt stays good."""
    taken = handing_out.take(ready(), Stage.FULFILMENT, op="t1", now_ms=NOW, until_ms=NOW + 10_000)
    noticed = transitions.look_now(taken, op="n", now_ms=NOW + 1)

    assert noticed.work == (Lane.TIMER, NOW + 1)
    done = handing_out.complete(noticed, Stage.FULFILMENT, "t1", op="d", now_ms=NOW + 2)
    assert set(done.duties) == {Duty.CHECK}


def test_a_parked_order_is_not_handed_out_for_fulfilment() -> None:
    """What a person has to look at first is not fulfilled meanwhile."""
    order = transitions.park(ready(), op="p", now_ms=NOW, error="It broke.")

    assert not handing_out.can_be_taken(order, Stage.FULFILMENT, NOW)


def test_receipts_are_read_as_they_were_written() -> None:
    """Whatever else comes is not found, never an error of ours."""
    receipt = Receipt("gig", make_order().key.order_id, "0123456789abcdef")

    assert read_receipt(str(receipt)) == receipt
    for text in ("", "x", "é", "=" * 9, "a" * 500, "Z2ln", str(receipt) + "!", "//79"):
        with pytest.raises(NotFound):
            read_receipt(text)


def test_a_history_stays_short() -> None:
    """However often an order fails and is redriven, its item stays below 4 KiB."""
    order = make_order()
    for n in range(50):
        order = transitions.fail(order, {Duty.REJOIN: n}, op="f", now_ms=n, error="x" * 5_000)
        order = transitions.park(order, op="p", now_ms=n, error="y" * 5_000)
        order = transitions.redrive(order, op="r", now_ms=n, who="z" * 5_000)

    assert len(order.history) == MAX_HISTORY
    assert {len(entry.note) for entry in order.history} == {MAX_NOTE_CHARS}
    assert whole_item_bytes(order_item(replace(order, parked=parked().parked))) < 4_096
