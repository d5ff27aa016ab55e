"""What the service answers instead of doing what was asked, and what the store makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from shared.domain import transitions
from shared.domain.errors import AnswerLost, Broken, Contended, Invalid, OnsaleError, Throttled, Unavailable
from shared.domain.order import Order, Reason, Status
from shared.ports.inventory import HoldBatch
from shared.stores.items import order_item
from shared.stores.wire import to_wire
from tests.builders import make_hint, make_order, make_sale
from tests.integration.dynamo.conftest import NOWHERE, Bench

HOT = [{"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:::table/t/index/work"}]
ORDER = make_order(op="a")


def _batch(*numbers: int, max_per_buyer: int | None = None) -> HoldBatch:
    return HoldBatch(
        event_id="gig",
        op="op",
        now_ms=5_000,
        hold_ends_at_ms=65_000,
        orders=tuple(make_hint(number) for number in numbers),
        slices={"floor": 0},
        max_per_buyer=max_per_buyer,
    )


def _released() -> Order:
    held = transitions.hold(ORDER, op="h", now_ms=5_000, hold_ends_at_ms=65_000, slices={"floor": 0})
    return transitions.release(
        held, held.payment, op="r", now_ms=70_000, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
    )


@pytest.mark.parametrize(
    ("code", "members"),
    [
        ("ThrottlingException", {"throttlingReasons": HOT}),
        ("ProvisionedThroughputExceededException", {"ThrottlingReasons": HOT}),
        ("RequestLimitExceeded", {"ThrottlingReasons": HOT}),
    ],
)
def test_a_throttle_names_its_reason_and_resource(scripted: Bench, code: str, members: dict[str, Any]) -> None:
    """Q7: whichever way the service spells a throttle, its reason and resource reach the caller."""
    scripted.road.answer(code, **members)

    with pytest.raises(Throttled) as caught:
        scripted.store.accept(ORDER)

    assert (caught.value.reason, caught.value.resource) == (HOT[0]["reason"], HOT[0]["resource"])


def test_a_throttle_without_reasons_is_still_one(scripted: Bench) -> None:
    """An older service gives no reasons."""
    scripted.road.answer("ThrottlingException")

    with pytest.raises(Throttled):
        scripted.store.get_order(ORDER.key)


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("TransactionConflictException", 400, Contended),
        ("TransactionInProgressException", 400, Contended),
        ("ReplicatedWriteConflictException", 400, Contended),
        ("InternalServerError", 500, AnswerLost),
        ("ServiceUnavailable", 503, AnswerLost),
        ("SomethingNew", 502, AnswerLost),
        ("ResourceNotFoundException", 400, Unavailable),
        ("UnrecognizedClientException", 400, Unavailable),
        ("ValidationException", 400, Broken),
        ("SomethingNew", 400, Broken),
    ],
)
def test_a_single_write_is_told_what_befell_it(
    scripted: Bench, code: str, status: int, expected: type[OnsaleError]
) -> None:
    """Q7: a put that meets a transaction is contended, one that met a server error may have been applied."""
    scripted.road.answer(code, status=status)

    with pytest.raises(expected) as caught:
        scripted.store.save(ORDER, seen_rev=1)

    assert type(caught.value) is expected


@pytest.mark.parametrize(("code", "status"), [("InternalServerError", 500), ("SomethingNew", 503)])
def test_a_failed_read_has_lost_nothing(scripted: Bench, code: str, status: int) -> None:
    """A server error on a read is an unavailable store, for nothing can have been applied."""
    scripted.road.answer(code, status=status)

    with pytest.raises(Unavailable) as caught:
        scripted.store.get_order(ORDER.key)

    assert type(caught.value) is Unavailable


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EndpointConnectionError(endpoint_url=NOWHERE), Unavailable),
        (NoCredentialsError(), Unavailable),
        (ReadTimeoutError(endpoint_url=NOWHERE), AnswerLost),
        (ConnectionClosedError(endpoint_url=NOWHERE), AnswerLost),
    ],
)
def test_only_what_was_sent_can_have_been_applied(
    scripted: Bench, error: Exception, expected: type[OnsaleError]
) -> None:
    """Q8: a request that never left is unavailable; one whose answer did not come may have been applied."""
    scripted.road.fail(error)

    with pytest.raises(expected) as caught:
        scripted.store.accept(ORDER)

    assert type(caught.value) is expected


@pytest.mark.parametrize("status", [200, 301, 400, 403, 413, 500])
@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[]", b"{}", b"\xff\xfe", b"\x1f\x8b\x08"])
def test_what_is_no_answer_of_the_service_says_nothing(scripted: Bench, status: int, body: bytes) -> None:
    """A portal, a proxy, a half broken server: a write may have been applied, a read just did not come."""
    scripted.road.babble(status, body)
    with pytest.raises(AnswerLost):
        scripted.store.accept(ORDER)
    scripted.road.babble(status, body)
    with pytest.raises(Unavailable):
        scripted.store.get_order(ORDER.key)


def test_an_unreachable_endpoint_is_named(scripted: Bench) -> None:
    """Whoever reads the error learns where nobody answered."""
    with pytest.raises(Unavailable, match=NOWHERE):
        scripted.store.get_sale("gig")


def test_one_call_is_one_attempt(scripted: Bench) -> None:
    """The SDK repeats nothing by itself: whoever wraps the store counts every attempt."""
    scripted.road.answer("ThrottlingException")

    with pytest.raises(Throttled):
        scripted.store.accept(ORDER)

    assert len(scripted.road.requests) == 1


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (("TransactionConflict", "None"), Contended),
        (("None", "ThrottlingError"), Throttled),
        (("None", "ProvisionedThroughputExceeded"), Throttled),
        (("TransactionConflict", "ThrottlingError"), Throttled),
        (("ValidationError", "None"), Broken),
    ],
)
def test_a_transaction_without_a_failed_condition_is_no_verdict(
    scripted: Bench, codes: tuple[str, ...], expected: type[OnsaleError]
) -> None:
    """Q7: conflicts and throttles inside a cancelled transaction are never taken for a failed condition."""
    scripted.road.cancel(*codes)

    with pytest.raises(expected) as caught:
        scripted.store.hold_batch(_batch(1))

    assert type(caught.value) is expected


def test_a_throttled_action_names_its_table(scripted: Bench) -> None:
    """The second action of a batch of one order is its slice, in the inventory table."""
    scripted.road.cancel("None", "ThrottlingError")

    with pytest.raises(Throttled) as caught:
        scripted.store.hold_batch(_batch(1))

    assert caught.value.resource == "nowhere-inventory"


def test_each_failed_condition_is_told_of_its_own_action(scripted: Bench) -> None:
    """Orders, slices and buyers stand in request order, so each reason finds whom it is about."""
    other = to_wire(order_item(make_order(2, op="another")))
    scripted.road.cancel(
        "None", "ConditionalCheckFailed", "ConditionalCheckFailed", "ConditionalCheckFailed", "None", items={1: other}
    )

    outcome = scripted.store.hold_batch(_batch(1, 2, max_per_buyer=4))

    assert not outcome.held
    assert outcome.gone == {make_hint(2).key}
    assert outcome.short == {"floor"}
    assert outcome.over_limit == {"buyer-1"}


def test_a_failed_condition_outweighs_a_conflict_beside_it(scripted: Bench) -> None:
    """Q7: in a mix, the condition is the caller's business; repeating would not change it."""
    scripted.road.cancel("TransactionConflict", "ConditionalCheckFailed", "None")

    outcome = scripted.store.hold_batch(_batch(1, 2))

    assert outcome.gone == {make_hint(2).key}


def test_seats_that_may_be_short_by_our_own_doing_are_no_verdict(scripted: Bench) -> None:
    """While the orders' own verdicts are hidden by a conflict, an earlier try of ours may have taken the seats."""
    scripted.road.cancel("TransactionConflict", "ConditionalCheckFailed")

    with pytest.raises(Contended):
        scripted.store.hold_batch(_batch(1))


def test_our_own_mark_on_one_order_proves_the__batch(scripted: Bench) -> None:
    """Q8: one order with our operation on it means that an earlier try of all of it succeeded."""
    ours = to_wire(order_item(make_order(1, op="op")))
    moved_on = to_wire(order_item(make_order(2, op="another")))
    scripted.road.cancel(
        "ConditionalCheckFailed", "ConditionalCheckFailed", "ConditionalCheckFailed", items={0: ours, 1: moved_on}
    )

    assert scripted.store.hold_batch(_batch(1, 2)).held


def test_a_release_hidden_by_a_conflict_is_repeated(scripted: Bench) -> None:
    """Seats that another release gave back are no contradiction while the order's own verdict is not known."""
    scripted.road.cancel("TransactionConflict", "ConditionalCheckFailed")

    with pytest.raises(Contended):
        scripted.store.release(_released(), seen_rev=2, withhold=False, max_per_buyer=None)


def test_a_release_of_seats_that_are_not_counted_stops_everything(scripted: Bench) -> None:
    """An order that holds seats which its slice does not count is a contradiction, not a lost race."""
    scripted.road.cancel("None", "ConditionalCheckFailed")

    with pytest.raises(Broken):
        scripted.store.release(_released(), seen_rev=2, withhold=False, max_per_buyer=None)


def test_a_counter_that_does_not_know_the_order_keeps_no_seat(scripted: Bench) -> None:
    """Held before the sale had a limit: the seats go back all the same, and the counter stays as it is."""
    scripted.road.cancel("None", "None", "ConditionalCheckFailed")
    scripted.road.give()

    assert scripted.store.release(_released(), seen_rev=2, withhold=False, max_per_buyer=4).done
    first, second = scripted.road.requests
    assert first["TransactItems"][:2] == second["TransactItems"]
    assert first["ClientRequestToken"] != second["ClientRequestToken"]


def test_keys_left_unread_are_asked_for_again(scripted: Bench) -> None:
    """Q6: an answer that leaves keys unread is followed up with exactly those."""
    key = {"pk": {"S": "gig#buyer/bob"}}
    left = {"nowhere-inventory": {"Keys": [key], "ConsistentRead": True}}
    ann = {"pk": {"S": "gig#buyer/ann"}, "taken": {"N": "2"}}
    bob = {"pk": {"S": "gig#buyer/bob"}, "taken": {"N": "1"}}
    scripted.road.give(Responses={"nowhere-inventory": [ann]}, UnprocessedKeys=left)
    scripted.road.give(Responses={"nowhere-inventory": [bob]})

    assert scripted.store.buyer_counts("gig", ["ann", "bob"]) == {"ann": 2, "bob": 1}
    assert scripted.road.requests[1]["RequestItems"] == left


def test_keys_that_stay_unread_are_a_throttle(scripted: Bench) -> None:
    """Q6: a service that leaves the same keys unread every time is given a rest, not an endless loop."""
    left = {"nowhere-inventory": {"Keys": [{"pk": {"S": "gig#buyer/ann"}}], "ConsistentRead": True}}
    for _ in range(3):
        scripted.road.give(Responses={"nowhere-inventory": []}, UnprocessedKeys=left)

    with pytest.raises(Throttled):
        scripted.store.buyer_counts("gig", ["ann"])


def test_an_empty_page_with_a_continuation_is_not_the_end(scripted: Bench) -> None:
    """Q5: a query may answer with nothing and still go on; the count follows it."""
    work = "line#0000000002001#1-00000000000000000000000000000001"
    last = {"pk": {"S": "gig#0"}, "sk": {"S": "1-00000000000000000000000000000001"}, "work": {"S": work}}
    scripted.road.give(Items=[], Count=0, LastEvaluatedKey=last)
    scripted.road.give(Count=0, LastEvaluatedKey=last)
    scripted.road.give(Count=2)

    page = scripted.store.due("gig", 0, make_hint(1).lane, until_ms=9_999, limit=10)

    assert (page.hints, page.cursor) == ((), work)
    assert scripted.store.depth("gig", 0, make_hint(1).lane, most=10) == 2


def test_a_batch_beyond_a_transaction_is_refused_before_it_is_sent(scripted: Bench) -> None:
    """A transaction takes 100 actions: what has more never leaves."""
    with pytest.raises(Invalid, match="49"):
        scripted.store.hold_batch(_batch(*range(50)))

    assert not scripted.road.requests


def test_an_item_beyond_the_limit_is_refused_before_it_is_sent(scripted: Bench) -> None:
    """R11: the store's guard speaks before any write."""
    with pytest.raises(Invalid):
        scripted.store.accept(make_order(fingerprint="f" * 410_000))
    with pytest.raises(Invalid):
        scripted.store.create_sale(make_sale(name="n" * 410_000))

    assert not scripted.road.requests


def test_a_closed_store_says_so(scripted: Bench) -> None:
    """After `close` every call is unavailable, and none is sent."""
    scripted.store.close()

    with pytest.raises(Unavailable, match="closed"):
        scripted.store.get_order(ORDER.key)

    assert not scripted.road.requests
