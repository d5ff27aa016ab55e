"""No more orders a second than the sale's budget, and nobody sent away until the same moment."""

from __future__ import annotations

import pytest

from ingest.admission import BURST_S, Admission
from ingest.errors import OverBudget
from ingest.handler import build_app
from shared.stores.sqlite import SqliteStore
from tests.builders import make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts


def _admitted(admission: Admission, accept_per_s: int) -> bool:
    try:
        admission.admit(make_sale(accept_per_s=accept_per_s))
    except OverBudget:
        return False
    return True


@pytest.mark.parametrize(("accept_per_s", "processes"), [(100, 1), (100, 4), (1_000, 3), (5, 1), (1, 2)])
def test_a_process_lives_on_its_share(accept_per_s: int, processes: int) -> None:
    """Under any pressure a process takes its share of the budget a second, and a burst at most."""
    clock = FakeClock()
    admission = Admission(clock, SeededIds(), processes=processes)
    taken = 0
    for _ in range(10_000):
        taken += _admitted(admission, accept_per_s)
        clock.advance(0.001)

    share = 10 * accept_per_s / processes
    assert share * 0.98 - 1 <= taken <= share + max(1, BURST_S * accept_per_s / processes)


def test_an_idle_process_saves_nothing_up() -> None:
    """After an hour of silence no more than the burst comes at once."""
    clock = FakeClock()
    admission = Admission(clock, SeededIds(), processes=1)
    assert _admitted(admission, 100)
    clock.advance(3_600)

    assert sum(_admitted(admission, 100) for _ in range(1_000)) == 10


def test_one_sale_does_not_eat_the_budget_of_another() -> None:
    """Budgets are kept by event."""
    admission = Admission(FakeClock(), SeededIds(), processes=1)
    while _admitted(admission, 10):
        pass

    admission.admit(make_sale(event_id="other", accept_per_s=10))


def _waits(refused: int, accept_per_s: int) -> list[float]:
    admission = Admission(FakeClock(), SeededIds(), processes=1)
    while _admitted(admission, accept_per_s):
        pass
    waits = []
    for _ in range(refused):
        with pytest.raises(OverBudget) as refusal:
            admission.admit(make_sale(accept_per_s=accept_per_s))
        assert refusal.value.retry_after_s is not None
        waits.append(refusal.value.retry_after_s)
    return waits


def test_the_refused_come_back_as_the_budget_does() -> None:
    """K11: the n-th refused is told no time before the n-th order's budget is back, and no two the same."""
    waits = _waits(500, 100)

    assert all(wait >= (number + 1) / 100 for number, wait in enumerate(waits))
    assert len({round(wait, 3) for wait in waits}) > 450
    assert max(waits) < 1.25 * 5.02 + 1.01


def test_nobody_is_sent_away_for_ever() -> None:
    """K11: the time told is bounded, but never earlier than the next order's budget."""
    assert max(_waits(5_000, 100)) < 30 * 1.25 + 1.01
    assert min(_waits(3, 1)) >= 1


def test_the_answer_names_the_time(inner: SqliteStore, parts_over: MakeParts) -> None:
    """K11: 503 with a Retry-After in whole seconds that is not below the exact time in the body."""
    sale = inner.get_sale("gig").sale
    inner.create_sale(make_sale(event_id="small", accept_per_s=2, salt=sale.salt))
    client = Client(build_app(parts_over(inner)), "ann", "buy")

    assert client.order(event_id="small").status == 202
    replies = [client.order(event_id="small") for _ in range(50)]

    assert {(reply.status, reply.problem) for reply in replies} == {(503, "over-budget")}
    assert all(int(reply.headers["Retry-After"]) >= reply.json["retry_after_s"] >= 0.5 for reply in replies)
    assert len({reply.headers["Retry-After"] for reply in replies}) > 10


def test_a_repeat_that_waited_is_taken(inner: SqliteStore, parts_over: MakeParts, clock: FakeClock) -> None:
    """K11: whoever follows the first refusal's time meets the budget."""
    inner.create_sale(make_sale(event_id="small", accept_per_s=2))
    client = Client(build_app(parts_over(inner)), "ann", "buy")
    client.order(event_id="small", key="a")
    refused = client.order(event_id="small", key="b")

    clock.advance(refused.json["retry_after_s"])

    assert client.order(event_id="small", key="b").status == 202
