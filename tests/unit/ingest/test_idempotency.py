"""One key, one order: whatever is repeated, lost or changed meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.process import build_app
from ingest.requests import LineRequest, OrderRequest
from shared.domain.order_id import locate_order
from shared.domain.sale import Sale, SaleStatus, TicketType
from shared.ports.control import Notice, PoolNotice, Word
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client
from tests.unit.ingest.conftest import MakeParts


def _count(store: SqliteStore) -> int:
    return sum(len(store.list_orders("gig", shard, limit=100).orders) for shard in range(4))


def test_the_same_key_twice_is_one_order(ann: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """K1: a repeat 50 ms later is answered with the first order."""
    first = ann.order(key="a")
    clock.advance(0.05)
    again = ann.order(key="a")

    assert (first.status, again.status) == (202, 202)
    assert first.headers["Location"] == again.headers["Location"]
    assert first.json["accepted_at"] == again.json["accepted_at"]
    assert _count(inner) == 1


def test_no_key_twice_is_two_orders(ann: Client, inner: SqliteStore) -> None:
    """K1: without a key every request is a wish of its own."""
    assert ann.order().headers["Location"] != ann.order().headers["Location"]
    assert _count(inner) == 2


def test_a_key_is_the_same_bare_and_in_quotes(ann: Client, inner: SqliteStore) -> None:
    """A structured string and a bare token with the same characters name the same order."""
    assert ann.order(key="a-1").headers["Location"] == ann.order(key='"a-1"').headers["Location"]
    assert _count(inner) == 1


def test_fifty_at_once_are_one_order(ann: Client, inner: SqliteStore) -> None:
    """K2: parallel repeats all name the one order."""
    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(lambda _: ann.order(key="a"), range(50)))

    assert {reply.status for reply in replies} == {202}
    assert len({reply.headers["Location"] for reply in replies}) == 1
    assert _count(inner) == 1


def test_a_key_is_not_reused_for_another_body(ann: Client, inner: SqliteStore) -> None:
    """K3: another body under the same key is 422, and nothing more is stored."""
    ann.order(1, key="a")
    reply = ann.order(2, key="a")

    assert (reply.status, reply.problem) == (422, "idempotency-key-reused")
    assert reply.json["field"] == "Idempotency-Key"
    assert _count(inner) == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"holder":"Ann","lines":[{"quantity":1,"ticket_type_id":"standing"}]}',
        '{"lines" : [ {"ticket_type_id":"standing", "quantity":1} ], "holder":"\\u0041nn", "payment_method":null}',
    ],
)
def test_how_a_body_is_written_does_not_matter(body: str, ann: Client, inner: SqliteStore) -> None:
    """K4: member order, spaces, escapes and spelled-out defaults keep the fingerprint."""
    first = ann.order(1, key="a", holder="Ann")
    again = ann.ask("POST", "/v1/events/gig/orders", raw=body, headers={"idempotency-key": "a"})

    assert again.status == 202
    assert again.headers["Location"] == first.headers["Location"]
    assert _count(inner) == 1


# No stored order has control characters: no ticket type is named so, and no holder may be.
_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
_LINES = st.lists(st.builds(LineRequest, ticket_type_id=_TEXTS, quantity=st.integers(1, 50)), min_size=1, max_size=5)


@given(_LINES, st.none() | st.from_regex(r"[A-Za-z0-9_.:-]{1,128}", fullmatch=True), st.none() | _TEXTS)
def test_a_fingerprint_is_made_as_it_ever_was(lines: list[LineRequest], method: str | None, holder: str | None) -> None:
    """K4: an order stored by another version of this code is known again: members by name, ASCII, without blanks."""
    request = OrderRequest.model_construct(lines=lines, payment_method=method, holder=holder)
    members: dict[str, object] = {"lines": [line.model_dump() for line in lines]}
    members |= {name: text for name, text in (("payment_method", method), ("holder", holder)) if text is not None}
    canonical = json.dumps(members, sort_keys=True, separators=(",", ":"))

    assert request.fingerprint() == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    "key", ["", '""', "a,b", '"a","a"', "a,a", ", ", "x" * 300, "x" * 256, "ключ", "a b", '"a', "é", "a\x00"]
)
def test_a_malformed_key_is_400(key: str, ann: Client, inner: SqliteStore) -> None:
    """K5: an empty, doubled, too long or non-ASCII key is 400, and nothing is stored."""
    reply = ann.order(key=key)

    assert (reply.status, reply.problem, reply.json["field"]) == (400, "bad-idempotency-key", "Idempotency-Key")
    assert _count(inner) == 0


def test_two_buyers_may_use_the_same_key(ann: Client, bob: Client, inner: SqliteStore) -> None:
    """K6: the key "1" of two buyers names two orders, and neither sees the other's."""
    of_ann, of_bob = ann.order(key="1"), bob.order(key="1")

    assert of_ann.headers["Location"] != of_bob.headers["Location"]
    assert ann.ask("GET", of_bob.headers["Location"]).status == 404
    assert _count(inner) == 2


@pytest.mark.parametrize("script", [Script({("accept", n): Fault.LOST_AFTER for n in (1, 2)})])
def test_a_lost_answer_is_found_by_the_repeat(script: Schedule, ann: Client, inner: SqliteStore) -> None:
    """K7: the store took the order, the process never learned of it; the client's repeat names the same order."""
    assert ann.order(key="a").status == 503
    assert _count(inner) == 1

    repeat = ann.order(key="a")

    assert repeat.status == 202
    assert _count(inner) == 1
    assert inner.get_order(locate_order("gig", repeat.json["order_id"], (4,))) is not None


@pytest.mark.parametrize("script", [Script({("accept", 1): Fault.LOST_AFTER})])
def test_a_lost_answer_costs_no_second_order_without_a_key(script: Schedule, ann: Client, inner: SqliteStore) -> None:
    """K7: without a key only the door itself can repeat the very same write, and does so once."""
    assert ann.order().status == 202
    assert _count(inner) == 1


def test_a_process_that_died_is_answered_for_by_the_next(
    ann: Client, inner: SqliteStore, store: FaultyStore, parts_over: MakeParts
) -> None:
    """K7: the repeat may meet another process, which knows nothing but the store."""
    first = ann.order(key="a")
    other = Client(build_app(parts_over(inner, seed=9)), "ann", "buy")

    assert other.order(key="a").headers["Location"] == first.headers["Location"]
    assert _count(inner) == 1


Change = Callable[[Sale], Sale]


def _changes() -> dict[str, dict[str, Any]]:
    return {
        "closed": {"status": SaleStatus.CLOSED},
        "paused": {"status": SaleStatus.PAUSED},
        "cancelled": {"status": SaleStatus.CANCELLED},
        "over": {"closes_at_ms": 10_000},
        "lower limit": {"max_per_order": 1},
        "lower buyer limit": {"max_per_buyer": 1},
        "other price": {"ticket_types": (TicketType("standing", "Standing", "floor", 9_900),)},
        "other types": {"ticket_types": (TicketType("seat", "Seat", "floor", 9_900),)},
    }


@pytest.mark.parametrize("changes", list(_changes().values()), ids=list(_changes()))
def test_the_first_answer_stands_when_the_sale_changes(
    changes: dict[str, Any], ann: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """K12: whatever became of the sale, the same key gets its first order at its first price."""
    first = ann.order(2, key="a")
    sale = inner.get_sale("gig").sale
    inner.save_sale(replace(sale, version=2, **changes), seen_version=1)
    clock.advance(1.5)

    again = ann.order(2, key="a")

    assert again.status == 202
    assert again.headers["Location"] == first.headers["Location"]
    assert again.json["amount"]["minor"] == 5_000
    assert ann.order(3, key="a").problem == "idempotency-key-reused"
    assert _count(inner) == 1


def test_the_first_answer_stands_when_all_is_sold(
    ann: Client, bob: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """K12: the sold-out answer is for new orders only."""
    first = ann.order(key="a")
    inner.publish("gig", Notice(10_001, {"floor": PoolNotice(Word.GONE, 1, sold_out=True)}, 0, None, None, 0.0))
    clock.advance(1.5)

    assert bob.order(key="a").problem == "sold-out"
    assert ann.order(key="b").problem == "sold-out"
    assert ann.order(key="a").headers["Location"] == first.headers["Location"]


@pytest.mark.parametrize("script", [Script({("get_order", 1): Fault.UNAVAILABLE})])
def test_no_final_refusal_without_a_look(script: Schedule, ann: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """K12: while the first attempt cannot be looked up, a repeat is told to try later, not that the sale closed."""
    ann.order(key="a")
    sale = inner.get_sale("gig").sale
    inner.save_sale(sale.changed(SaleStatus.CLOSED), seen_version=1)
    clock.advance(1.5)

    assert ann.order(key="a").status == 503
    assert ann.order(key="a").status == 202
    assert ann.order(key="b").problem == "closed"
