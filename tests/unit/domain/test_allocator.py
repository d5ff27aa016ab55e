"""Who gets seats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.allocator import Decisions, Stock, allocate
from shared.domain.order import Reason, WorkHint
from tests.builders import make_hint


def decide(
    waiting: list[WorkHint],
    unsold: int,
    *,
    batch_size: int = 49,
    counts: dict[str, int] | None = None,
    limit: int | None = None,
    round_no: int = 0,
    sold_out: bool = False,
) -> Decisions:
    """Allocate over one pool."""
    return allocate(
        waiting,
        {"floor": Stock(unsold, round_no, sold_out)},
        batch_size=batch_size,
        buyer_counts=counts or {},
        max_per_buyer=limit,
    )


parties = st.lists(st.integers(1, 6), max_size=60)


@given(parties, st.integers(0, 60), st.integers(1, 49))
def test_a_party_is_served_whole_oldest_first_and_never_beyond_the_stock(
    sizes: list[int], unsold: int, batch_size: int
) -> None:
    """The held orders are exactly those a person with a pencil would serve, and every order has one decision."""
    waiting = [make_hint(at, quantity=size) for at, size in enumerate(sizes)]
    decisions = decide(waiting, unsold, batch_size=batch_size)
    expected: list[WorkHint] = []
    free = unsold
    for hint, size in zip(waiting, sizes, strict=True):
        if len(expected) < batch_size and size <= free:
            expected.append(hint)
            free -= size
    assert list(decisions.hold) == expected
    assert sorted(h.place for part in (decisions.hold, decisions.unfit, decisions.passed_over) for h in part) == [
        h.place for h in waiting
    ]


@given(parties, st.integers(0, 60))
def test_no_order_that_fits_what_is_left_is_passed_by(sizes: list[int], unsold: int) -> None:
    """With a large enough batch, nothing that fits the rest is left waiting."""
    decisions = decide([make_hint(at, quantity=size) for at, size in enumerate(sizes)], unsold, batch_size=100)
    rest = unsold - sum(h.demand[0].quantity for h in decisions.hold)
    assert all(h.demand[0].quantity > rest for h in decisions.unfit)


def test_the_oldest_that_does_not_fit_names_what_it_lacks() -> None:
    """A group knows exactly how many seats to draw for the oldest order that does not fit."""
    decisions = decide([make_hint(1, quantity=2), make_hint(2, quantity=4), make_hint(3, quantity=6)], 3)
    assert decisions.lacking == {"floor": 3}


def test_q17_two_orders_of_one_buyer_do_not_share_a_batch() -> None:
    """Q17: the second order of a buyer waits for the next batch; its neighbours are served."""
    waiting = [make_hint(1, buyer="bot"), make_hint(2, buyer="bot"), make_hint(3)]
    decisions = decide(waiting, 10, limit=4)
    assert [h.accepted_at_ms for h in decisions.hold] == [1, 3]
    assert [h.accepted_at_ms for h in decisions.passed_over] == [2]


def test_q17_an_order_over_the_limit_is_refused_alone() -> None:
    """Q17: one over-limit order among others is rejected by itself."""
    decisions = decide([make_hint(1, buyer="bot", quantity=2), make_hint(2)], 10, limit=4, counts={"bot": 3})
    assert [(r.hint.accepted_at_ms, r.reason) for r in decisions.reject] == [(1, Reason.OVER_BUYER_LIMIT)]
    assert [h.accepted_at_ms for h in decisions.hold] == [2]


def test_without_a_limit_one_buyer_may_fill_a_batch() -> None:
    """Where the sale has no per-buyer limit nobody is made to wait for it."""
    assert len(decide([make_hint(at, buyer="ann") for at in range(5)], 10).hold) == 5


def test_s11_orders_of_an_older_round_are_rejected_even_when_seats_are_back() -> None:
    """S11: a seat that came back belongs to the new round's orders; the old round's stay rejected."""
    decisions = decide([make_hint(1, round_no=0), make_hint(2, round_no=1)], 1, round_no=1)
    assert [(r.hint.accepted_at_ms, r.reason) for r in decisions.reject] == [(1, Reason.SOLD_OUT)]
    assert [h.accepted_at_ms for h in decisions.hold] == [2]


def test_a_sold_out_pool_rejects_whoever_still_arrives() -> None:
    """While the decision stands, an order that a late door let in is rejected by the worker that reads it."""
    assert [r.reason for r in decide([make_hint(1, round_no=1)], 0, round_no=1, sold_out=True).reject] == [
        Reason.SOLD_OUT
    ]
