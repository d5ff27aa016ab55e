"""How did it go? The truth for the buyer, nothing for others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ingest.place_line import estimate_place
from ingest.poll_pace import MAX_POLL_S, poll_after_s
from shared.domain.order import Duty, Order, Payment, PaymentState, Reason, Status
from shared.domain.order_id import locate_order, order_key
from shared.domain.transitions import cancel_queued, confirm, hold, note_payment, reject, release
from shared.ports.control import Notice
from shared.stores.faults import FaultyStore
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order, make_sale
from tests.fakes.system import FakeClock, SeededIds
from tests.unit.ingest.client import Client

SECRET = "pi_1_secret_2"


def _advance(store: SqliteStore, order_id: str, *steps: Callable[[Order], Order]) -> None:
    order = store.get_order(locate_order("gig", order_id, (4,)))
    for step in steps:
        assert order is not None
        after = step(order)
        assert store.save(after, seen_rev=order.rev).done
        order = after


def _hold(order: Order) -> Order:
    return hold(order, op="h", now_ms=10_000, hold_ends_at_ms=70_000, slices={"floor": 0})


def _hand_off(order: Order) -> Order:
    payment = replace(order.payment, state=PaymentState.OPEN, intent_id="pi_1", client_secret=SECRET)
    return note_payment(order, payment, {Duty.HOLD_END: 70_000}, op="n", now_ms=10_000)


def _confirm(order: Order) -> Order:
    paid = replace(order.payment, state=PaymentState.PAID, captured_minor=order.amount.minor)
    return confirm(order, paid, op="c", now_ms=11_000, tickets=tuple(f"code-{n}" for n in range(order.quantity)))


def test_an_order_in_line_is_shown_to_its_buyer(ann: Client) -> None:
    """The status, a sentence and when to look again."""
    where = ann.order(2).headers["Location"]

    shown = ann.ask("GET", where)

    assert shown.status == 200
    assert shown.headers["Cache-Control"] == "no-store"
    assert (shown.json["status"], shown.json["sentence"]) == ("queued", "Your order is in line.")
    assert 1 <= shown.json["poll_after_s"] <= 30
    assert not {"tickets", "payment", "hold_ends_at", "reason"} & shown.json.keys()


def test_nobody_else_learns_that_an_order_exists(ann: Client, bob: Client, inner: SqliteStore) -> None:
    """K10: for another buyer a foreign order is as absent as one that never was, for reading and cancelling."""
    where = ann.order().headers["Location"]
    never = "/v1/events/gig/orders/1-" + "0" * 32

    for method in ("GET", "DELETE"):
        foreign, absent = bob.ask(method, where), bob.ask(method, never)
        assert (foreign.status, foreign.text) == (absent.status, absent.text)
        assert foreign.status == 404
    assert ann.ask("GET", where).json["status"] == "queued"


def test_staff_see_an_order_without_its_secrets(ann: Client, reader: Client, inner: SqliteStore) -> None:
    """Neither the payment hand-off nor the holder nor the tickets are shown to anybody but the buyer."""
    placed = ann.order(holder="Ann")
    where = placed.headers["Location"]
    _advance(inner, placed.json["order_id"], _hold, _hand_off)

    shown = reader.ask("GET", where)

    assert shown.status == 200
    assert SECRET not in shown.text
    assert not {"payment", "holder", "tickets"} & shown.json.keys()


def test_a_token_without_a_scope_opens_nothing(ann: Client) -> None:
    """Even the buyer's own order needs the scope to buy, or to read for staff."""
    where = ann.order().headers["Location"]

    assert Client(ann.door, "ann", "openid").ask("GET", where).status == 403


def test_staff_may_not_cancel_for_a_buyer(ann: Client, reader: Client, staff: Client) -> None:
    """Cancelling is the buyer's own; a staff token has not even the scope."""
    where = ann.order().headers["Location"]

    assert (reader.ask("DELETE", where).status, staff.ask("DELETE", where).status) == (403, 403)


def test_a_hold_carries_the_hand_off(ann: Client, inner: SqliteStore) -> None:
    """While seats are held the buyer is told how to pay and until when."""
    placed = ann.order()
    _advance(inner, placed.json["order_id"], _hold, _hand_off)

    shown = ann.ask("GET", placed.headers["Location"]).json

    assert shown["status"] == "held"
    assert shown["hold_ends_at"] == "1970-01-01T00:01:10.000Z"
    assert shown["payment"] == {"client_secret": SECRET, "hold_ends_at": "1970-01-01T00:01:10.000Z"}


@pytest.mark.parametrize("state", [PaymentState.NONE, PaymentState.PROCESSING, PaymentState.PAID, PaymentState.CLOSED])
def test_there_is_nothing_to_pay_when_nothing_is_open(state: PaymentState, ann: Client, inner: SqliteStore) -> None:
    """The client secret is shown only while paying with it makes sense."""
    placed = ann.order()
    _advance(inner, placed.json["order_id"], _hold, _hand_off)
    _advance(
        inner,
        placed.json["order_id"],
        lambda order: note_payment(order, replace(order.payment, state=state), order.duties, op="x", now_ms=1),
    )

    assert SECRET not in ann.ask("GET", placed.headers["Location"]).text


def test_a_decline_is_told_with_its_code(ann: Client, inner: SqliteStore) -> None:
    """The buyer learns why, and that another card may be tried."""
    placed = ann.order()
    _advance(inner, placed.json["order_id"], _hold)
    declined = Payment(attempt=1, state=PaymentState.DECLINED, decline_code="insufficient_funds")
    _advance(
        inner,
        placed.json["order_id"],
        lambda order: note_payment(order, declined, {Duty.HOLD_END: 70_000}, op="x", now_ms=1),
    )

    shown = ann.ask("GET", placed.headers["Location"]).json

    assert shown["decline_code"] == "insufficient_funds"
    assert "try another" in shown["sentence"]


def test_tickets_are_shown_once_confirmed(ann: Client, bob: Client, reader: Client, inner: SqliteStore) -> None:
    """One code per seat, for the buyer only, and nothing to wait for any more."""
    placed = ann.order(2)
    _advance(inner, placed.json["order_id"], _hold, _hand_off, _confirm)

    shown = ann.ask("GET", placed.headers["Location"]).json

    assert (shown["status"], shown["tickets"]) == ("confirmed", ["code-0", "code-1"])
    assert "poll_after_s" not in shown
    assert SECRET not in str(shown)
    assert "code-0" not in reader.ask("GET", placed.headers["Location"]).text


@pytest.mark.parametrize(
    ("steps", "status", "word"),
    [
        ((lambda o: reject(o, op="r", now_ms=1, reason=Reason.SOLD_OUT),), "rejected", "sold out"),
        ((lambda o: reject(o, op="r", now_ms=1, reason=Reason.OVER_BUYER_LIMIT),), "rejected", "one buyer"),
        ((lambda o: cancel_queued(o, op="r", now_ms=1),), "cancelled", "You cancelled"),
        (
            (
                _hold,
                lambda o: release(
                    o, o.payment, op="r", now_ms=1, status=Status.EXPIRED, reason=Reason.NOT_PAID_IN_TIME
                ),
            ),
            "expired",
            "not paid in time",
        ),
    ],
)
def test_an_end_is_told_in_a_sentence(
    steps: tuple[Callable[[Order], Order], ...], status: str, word: str, ann: Client, inner: SqliteStore
) -> None:
    """However an order ends, the buyer reads why, and that there is nothing to wait for."""
    placed = ann.order()
    _advance(inner, placed.json["order_id"], *steps)

    shown = ann.ask("GET", placed.headers["Location"]).json

    assert shown["status"] == status
    assert word in shown["sentence"]
    assert "reason" in shown
    assert "poll_after_s" not in shown


def test_a_superseded_order_answers_with_the_newer_one(ann: Client, inner: SqliteStore) -> None:
    """An old id leads to the copy that counts; a stranger still sees nothing."""
    newer = make_order(2)
    older = replace(make_order(1), status=Status.SUPERSEDED, superseded_by=newer.key.order_id)
    inner.accept(newer)
    inner.accept(older)

    assert ann.ask("GET", f"/v1/events/gig/orders/{older.key.order_id}").json["order_id"] == newer.key.order_id


@pytest.mark.parametrize(
    "order_id",
    ["1", "1-", "1-" + "g" * 32, "2-" + "0" * 32, "0-" + "0" * 32, "1-" + "0" * 31, "x" * 300, "1-%00", "🎫", "#"],
)
def test_an_id_that_cannot_be_is_not_found(order_id: str, ann: Client, store: FaultyStore) -> None:
    """R13: what is no order id is 404 and never asked for."""
    assert ann.ask("GET", f"/v1/events/gig/orders/{order_id}").status == 404
    assert store.calls["get_order"] == 0


def _notice(**changes: object) -> Notice:
    plain = Notice(at_ms=9_000, pools={}, waiting=100, head_ms=2_000, newest_ms=4_000, drained_per_s=10.0)
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accepted_at_ms", "ahead"), [(1_000, 0), (2_000, 0), (3_000, 50), (3_500, 75), (4_000, 100), (9_999, 100)]
)
def test_the_place_lies_between_the_first_and_the_last(accepted_at_ms: int, ahead: int) -> None:
    """The estimate is linear in the time of acceptance."""
    place = estimate_place(make_order(accepted_at_ms=accepted_at_ms), _notice())

    assert place is not None
    assert (place.ahead, place.as_of_ms, place.turn_s) == (ahead, 9_000, ahead / 10)


def test_where_nobody_waits_nobody_is_ahead() -> None:
    """An empty line has no first and no last."""
    place = estimate_place(make_order(), _notice(waiting=0, head_ms=None, newest_ms=None, drained_per_s=0.0))

    assert place is not None
    assert (place.ahead, place.turn_s) == (0, None)


def test_there_is_no_place_without_a_notice_or_a_line() -> None:
    """What is not known is not made up, and whoever is not in line has no place."""
    assert estimate_place(make_order(), None) is None
    assert estimate_place(make_order(status=Status.HELD), _notice()) is None


def test_the_place_is_shown_with_its_age(ann: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """The buyer sees the estimate and how old it is."""
    inner.publish("gig", _notice(newest_ms=20_000))
    placed = ann.order()
    clock.advance(0.5)

    place = ann.ask("GET", placed.headers["Location"]).json["place"]

    assert place == {"ahead": 44, "as_of": "1970-01-01T00:00:09.000Z", "age_s": 1.5}


def test_polling_grows_with_the_place_and_stays_within_bounds() -> None:
    """Far back in line one looks seldom, near the front often, and never later than a hold would last."""
    ids, sale = SeededIds(), make_sale(hold_ttl_s=600)

    def wait(waiting: int, pace: float, hold_ttl_s: int = 600, *, by_hand: bool = False) -> float:
        order = make_order(accepted_at_ms=5_000)
        if by_hand:
            order = replace(order, payment=Payment())
        notice = _notice(waiting=waiting, drained_per_s=pace)
        pace_s = poll_after_s(order, replace(sale, hold_ttl_s=hold_ttl_s), notice, estimate_place(order, notice), ids)
        assert pace_s is not None
        return pace_s

    assert 1 <= wait(0, 100.0) < wait(500, 100.0) < wait(1_500, 100.0) <= MAX_POLL_S
    assert MAX_POLL_S * 0.8 <= wait(1_000_000, 10.0) <= MAX_POLL_S
    assert wait(20_000, 1e9) >= 20  # the read budget alone
    assert 1.6 <= wait(1_000_000, 10.0, hold_ttl_s=8, by_hand=True) <= 2
    assert wait(1_000_000, 10.0, hold_ttl_s=8) > 20  # the card is charged while its buyer sleeps


def test_polling_is_spread() -> None:
    """A thousand buyers at one place are not told one moment."""
    ids, sale, order = SeededIds(), make_sale(), make_order(accepted_at_ms=5_000)
    notice = _notice(waiting=50)
    place = estimate_place(order, notice)

    told = {poll_after_s(order, sale, notice, place, ids) for _ in range(1_000)}

    assert len(told) > 500
    assert min(value for value in told if value is not None) >= 5


def test_polling_is_spread_at_its_bound_too() -> None:
    """Those far back, who are all told the longest wait, do not come back together."""
    ids, sale, order = SeededIds(), make_sale(), make_order(accepted_at_ms=5_000)
    notice = _notice(waiting=1_000_000)

    told = {poll_after_s(order, sale, notice, estimate_place(order, notice), ids) for _ in range(1_000)}

    assert len(told) > 500


def test_an_order_of_another_map_version_is_found(ann: Client, inner: SqliteStore) -> None:
    """The id says under which version of the shard map an order lies."""
    sale = inner.get_sale("gig").sale
    inner.save_sale(replace(sale, shard_counts=(4, 8), version=2), seen_version=1)
    key = order_key("gig", (77).to_bytes(16, "big"), (4, 8), 2)
    inner.accept(make_order(key=key))

    assert ann.ask("GET", f"/v1/events/gig/orders/{key.order_id}").status == 200
