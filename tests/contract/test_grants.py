"""The grant items of a sale: taken in turn, by one process at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from shared.ports.control import GrantTurn
from shared.ports.store import Store
from tests.contract.kinds import StoreKind


def test_a_grant_is_taken_in_its_turn(store: Store) -> None:
    """Nobody has it at first; whoever knows its turn takes the next one."""
    assert store.take_grant("gig", 0, seen=0, op="a") == GrantTurn(1, taken=True)
    assert store.take_grant("gig", 0, seen=1, op="b") == GrantTurn(2, taken=True)


def test_whoever_is_late_learns_the_turn(store: Store) -> None:
    """A failed condition changes nothing and says what stands."""
    assert store.take_grant("gig", 0, seen=7, op="early") == GrantTurn(0, taken=False)
    store.take_grant("gig", 0, seen=0, op="a")
    store.take_grant("gig", 0, seen=1, op="a2")

    for seen in (0, 1, 3):
        assert store.take_grant("gig", 0, seen=seen, op=f"late-{seen}") == GrantTurn(2, taken=False)
    assert store.take_grant("gig", 0, seen=2, op="b") == GrantTurn(3, taken=True)


def test_a_repeated_call_knows_its_own_work(store: Store) -> None:
    """The same call after a lost answer has taken the grant once."""
    for _ in range(3):
        assert store.take_grant("gig", 0, seen=0, op="a") == GrantTurn(1, taken=True)


def test_grants_do_not_know_each_other(store: Store) -> None:
    """Each number of each event is an item of its own."""
    for event_id, grant_no in (("gig", 0), ("gig", 1), ("other", 0)):
        assert store.take_grant(event_id, grant_no, seen=0, op="a") == GrantTurn(1, taken=True)


def test_of_many_at_once_one_takes_a_turn(store: Store, kind: StoreKind) -> None:
    """However many processes ask for the same turn."""
    with ThreadPoolExecutor(8 if kind.parallel else 1) as pool:
        answers = list(pool.map(lambda number: store.take_grant("gig", 0, seen=0, op=f"op-{number}"), range(16)))

    assert sum(answer.taken for answer in answers) == 1
    assert {answer.turn for answer in answers} == {1}
