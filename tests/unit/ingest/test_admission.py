"""No more orders a second than the sale's budget, and nobody sent away until the same moment."""

from __future__ import annotations

import pytest

from ingest.errors import OverBudget
from ingest.process import build_app
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts
from tests.unit.ingest.fleet import Process


def test_a_process_alone_lives_on_the_whole_budget(inner: SqliteStore, clock: FakeClock) -> None:
    """Under any pressure it takes the budget, exactly, in every second, and keeps taking it."""
    process = Process(inner, clock, processes=1)
    taken = []
    for _ in range(10_000):
        taken.append(process.takes(100))
        clock.advance(0.001)

    assert {sum(taken[at : at + 1_000]) for at in range(1_000, 9_000, 37)} == {100}
    assert sum(taken) == 1_000


def test_an_idle_process_saves_nothing_up(inner: SqliteStore, clock: FakeClock) -> None:
    """After an hour of silence no more than a tenth of a second's orders come at once."""
    process = Process(inner, clock, processes=1)
    assert process.takes(100)
    clock.advance(3_600)

    assert sum(process.takes(100) for _ in range(1_000)) == 10


def test_one_sale_does_not_eat_the_budget_of_another(inner: SqliteStore, clock: FakeClock) -> None:
    """Budgets are kept by event."""
    process = Process(inner, clock, processes=1)
    while process.takes(10):
        pass

    assert process.takes(10, event_id="other")


def _waits(inner: SqliteStore, refused: int, accept_per_s: int) -> list[float]:
    process = Process(inner, FakeClock(), processes=1)
    while process.takes(accept_per_s):
        pass
    waits = []
    for _ in range(refused):
        with pytest.raises(OverBudget) as refusal:
            process.admission.admit(make_sale(accept_per_s=accept_per_s))
        assert refusal.value.retry_after_s is not None
        waits.append(refusal.value.retry_after_s)
    return waits


def test_the_refused_come_back_as_the_budget_does(inner: SqliteStore) -> None:
    """K11: the n-th refused is told no time before the n-th order's budget is back, and no two the same."""
    waits = _waits(inner, 500, 100)

    assert all(wait >= (number + 1) / 100 for number, wait in enumerate(waits))
    assert len({round(wait, 3) for wait in waits}) > 450
    assert max(waits) < 1.25 * 5.1 + 1.01


def test_nobody_is_sent_away_for_ever(inner: SqliteStore) -> None:
    """K11: the time told is bounded, but never earlier than the next order's budget."""
    assert max(_waits(inner, 5_000, 100)) < 30 * 1.25 + 1.01
    assert min(_waits(inner, 3, 1)) >= 1


def test_the_answer_names_the_time(inner: SqliteStore, parts_over: MakeParts) -> None:
    """K11: 503 with a Retry-After in whole seconds that is not below the exact time in the body."""
    sale = inner.get_sale("gig").sale
    inner.create_sale(make_sale(event_id="small", accept_per_s=2, salt=sale.salt))
    client = Client(build_app(parts_over(inner)), "ann", "buy")

    assert client.order(event_id="small").status == 202
    replies = [client.order(event_id="small") for _ in range(50)]

    assert {(reply.status, reply.problem) for reply in replies} == {(503, "over-budget")}
    assert all(int(reply.headers["Retry-After"]) >= reply.json["retry_after_s"] >= 0.1 for reply in replies)
    assert len({reply.headers["Retry-After"] for reply in replies}) > 10


def test_a_repeat_that_waited_is_taken(inner: SqliteStore, parts_over: MakeParts, clock: FakeClock) -> None:
    """K11: whoever follows the first refusal's time meets the budget."""
    inner.create_sale(make_sale(event_id="small", accept_per_s=2))
    client = Client(build_app(parts_over(inner)), "ann", "buy")
    client.order(event_id="small", key="a")
    refused = client.order(event_id="small", key="b")

    clock.advance(refused.json["retry_after_s"])

    assert client.order(event_id="small", key="b").status == 202


def test_two_hundred_buyers_behind_one_address_are_all_served(inner: SqliteStore, parts_over: MakeParts) -> None:
    """K9: what counts is who a buyer is, never where the request comes from."""
    door = build_app(parts_over(inner))

    replies = [Client(door, f"buyer-{number}", "buy").order(key="1") for number in range(200)]

    assert {reply.status for reply in replies} == {202}
    assert len({reply.headers["Location"] for reply in replies}) == 200
