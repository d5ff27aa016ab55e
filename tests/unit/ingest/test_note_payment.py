"""News from the payment service: verified, stored, never believed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace

from infra.local.payment_service.signatures import signature_header
from ingest.door import Door
from ingest.note_payment import ORPHAN_AFTER_MS
from ingest.parts import Parts
from ingest.process import build_app
from shared.domain.journey import Step
from shared.domain.order import Duty, Order, PaymentState, Reason, Status
from shared.domain.order_id import OrderKey, order_key
from shared.metrics import PAYMENT_NOTICES
from shared.payments.tags import Tags
from shared.payments.webhooks import Webhooks
from shared.stores.faults import Fault, FaultyStore, Schedule, Script
from shared.stores.sqlite import SqliteStore
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client, Reply
from tests.unit.ingest.money import confirmed, held, seen, stored

TAGS = Tags(b"a secret of the tests", "test")
SECRET = "whsec_now"


@pytest.fixture
def door(parts: Parts) -> Door:
    """Return a door that reads webhooks of test mode, signed with either of two secrets."""
    reader = Webhooks((SECRET, "whsec_before"), tags=TAGS, live=False)
    return build_app(replace(parts, open_notices=lambda: reader))


@pytest.fixture
def service(door: Door) -> Client:
    """Return the payment service: it has no token."""
    return Client(door, "", "")


def event_about(key: OrderKey | None, kind: str = "payment_intent.succeeded", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON takes them
    """Make an event about the intent of an order, created just now by the tests' clock."""
    metadata = {} if key is None else TAGS.metadata(key)
    about = {"object": "payment_intent", "id": "pi_x" if key is None else f"pi_{key.order_id}", "metadata": metadata}
    event = {"id": "evt_1", "type": kind, "created": 10, "livemode": False, "data": {"object": about}}
    return event | changes


def send(
    service: Client, event: object, *, secret: str = SECRET, age_s: int = 0, signature: str | None = None
) -> Reply:
    """Send an event as the payment service does."""
    text = event if isinstance(event, str) else json.dumps(event)
    header = signature if signature is not None else signature_header(text, [secret], int(time.time()) - age_s)
    return service.ask("POST", "/v1/webhooks/payments", raw=text, headers={"stripe-signature": header})


def test_news_marks_the_order_to_be_looked_at(service: Client, ann: Client, inner: SqliteStore) -> None:
    """One conditional write: a check due now, nothing else has changed."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    reply = send(service, event_about(order.key))
    after = stored(inner, order.key.order_id)

    assert (reply.status, reply.json) == (200, {"noted": "stored"})
    assert after == replace(
        order,
        rev=order.rev + 1,
        op=after.op,
        updated_at_ms=10_000,
        duties={**order.duties, Duty.CHECK: 10_000},
        steps=(*order.steps, Step("news", 10_000)),
    )


def test_p2_every_delivery_counts_as_news(service: Client, ann: Client, inner: SqliteStore) -> None:
    """A check that is due already may be under way with an older answer, so each delivery moves the version."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    for _ in range(3):
        assert send(service, event_about(order.key)).status == 200

    assert stored(inner, order.key.order_id).rev == order.rev + 3


def test_what_is_known_is_not_written_again(
    service: Client, ann: Client, store: FaultyStore, inner: SqliteStore
) -> None:
    """The success of an order that is confirmed by it costs one read."""
    order = confirmed(inner, ann)
    store.calls.clear()

    reply = send(service, event_about(order.key))

    assert reply.json == {"noted": "known"}
    assert dict(store.calls) == {"get_order": 1}
    assert send(service, event_about(order.key, "charge.refunded")).json == {"noted": "stored"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"secret": "whsec_other"}, "webhook-signature"),
        ({"age_s": 600}, "webhook-signature"),
        ({"signature": "nonsense"}, "webhook-signature"),
        ({"signature": ""}, "webhook-signature"),
    ],
)
def test_what_is_not_signed_is_refused(
    service: Client, ann: Client, inner: SqliteStore, changes: dict[str, Any], code: str
) -> None:
    """A wrong or old signature, or none: 400, and the order is not touched."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    reply = send(service, event_about(order.key), **changes)

    assert (reply.status, reply.problem) == (400, code)
    assert stored(inner, order.key.order_id) == order


def test_secrets_are_rotated_without_a_gap(service: Client, ann: Client, inner: SqliteStore) -> None:
    """Either of several secrets signs."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    assert send(service, event_about(order.key), secret="whsec_before").status == 200


def test_live_and_test_mode_do_not_mix(service: Client, ann: Client, inner: SqliteStore) -> None:
    """An event of live mode is refused where test keys are used."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    reply = send(service, event_about(order.key, livemode=True))

    assert (reply.status, reply.problem) == (400, "webhook-mode")


def test_foreign_payments_are_counted_and_left_alone(
    service: Client, ann: Client, inner: SqliteStore, store: FaultyStore, door: Door
) -> None:
    """Without a valid tag: 2xx, no call of the store, and a count."""
    key = held(inner, ann).key
    forged = event_about(key)
    forged["data"]["object"]["metadata"]["onsale_tag"] = "0" * 64
    store.calls.clear()

    replies = [send(service, event_about(None)), send(service, forged)]

    assert [reply.json for reply in replies] == [{"noted": "foreign"}] * 2
    assert not store.calls
    counted = door._parts.insight.watch.meter.read()[PAYMENT_NOTICES.name]
    assert {labels: series.value for labels, series in counted.items()} == {("foreign",): 2}


def test_p4_a_store_that_is_down_is_told_and_the_event_comes_again(
    service: Client, ann: Client, inner: SqliteStore, store: FaultyStore, script: Schedule
) -> None:
    """5xx with a time to come back, then done."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)
    store._schedule = Script({("save", store.calls["save"] + 1): Fault.UNAVAILABLE})

    first, second = send(service, event_about(order.key)), send(service, event_about(order.key))

    assert (first.status, second.status) == (503, 200)
    assert int(first.headers["Retry-After"]) >= 1
    assert stored(inner, order.key.order_id).rev == order.rev + 1


def test_p5_an_order_not_stored_yet_is_waited_for(service: Client, ann: Client, inner: SqliteStore) -> None:
    """5xx while the event is young; done once the order is there."""
    key = order_key("gig", (7).to_bytes(16, "big"), (4,), 1)

    first = send(service, event_about(key))
    order = replace(held(inner, ann), key=key, rev=1, op="late", status=Status.QUEUED, duties={}, seats=())
    assert inner.accept(order).created
    second = send(service, event_about(key))

    assert (first.status, second.status) == (503, 200)


def test_p5_an_order_that_never_will_be_ends_in_the_refund_list(
    service: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """2xx: a stand-in takes the order's place, its duty due now; further news only marks that one."""
    key = order_key("gig", (7).to_bytes(16, "big"), (4,), 1)
    clock.advance(ORPHAN_AFTER_MS / 1000)

    first, again = send(service, event_about(key)), send(service, event_about(key))
    orphan = stored(inner, key.order_id)

    assert (first.json, again.json) == ({"noted": "orphaned"}, {"noted": "stored"})
    assert (orphan.status, orphan.reason, orphan.rev) == (Status.CANCELLED, Reason.ORPHANED, 2)
    assert (orphan.payment.intent_id, orphan.quantity, orphan.amount.minor) == (f"pi_{key.order_id}", 0, 0)
    assert orphan.duties == {Duty.CHECK: clock.now_ms()}


def test_an_orphan_is_nobodys_order(service: Client, ann: Client, reader: Client, clock: FakeClock) -> None:
    """Buyers do not see it, staff read a plain sentence."""
    key = order_key("gig", (7).to_bytes(16, "big"), (4,), 1)
    clock.advance(ORPHAN_AFTER_MS / 1000)
    send(service, event_about(key))

    path = f"/v1/events/gig/orders/{key.order_id}"
    told = reader.ask("GET", path)

    assert ann.ask("GET", path).status == 404
    assert (told.status, told.json["sentence"]) == (200, "A payment came without an order; it is paid back.")


def test_an_orphan_of_an_unknown_event_is_stored_too(service: Client, inner: SqliteStore, clock: FakeClock) -> None:
    """Even the sale is gone: 2xx, and the stand-in waits for whoever restores it."""
    key = order_key("lost", (7).to_bytes(16, "big"), (4,), 1)
    clock.advance(ORPHAN_AFTER_MS / 1000)

    assert send(service, event_about(key)).json == {"noted": "orphaned"}
    orphan = inner.get_order(key)
    assert orphan is not None
    assert orphan.is_orphan


@pytest.mark.parametrize(
    "event",
    [
        event_about(None, "customer.created", data={"object": {"object": "customer", "id": "cus_1"}}),
        event_about(None, "some.day.new", data={"object": {"object": "thing", "id": "x"}}, more={"a": [1]}),
        event_about(None, "payment_intent.succeeded", data={}),
        event_about(None, "payment_intent.succeeded", data={"object": None}),
    ],
)
def test_p8_what_is_about_no_payment_is_2xx(service: Client, event: dict[str, Any]) -> None:
    """Unknown kinds, unknown members, a missing object: taken and said to be irrelevant."""
    reply = send(service, event)

    assert (reply.status, reply.json) == (200, {"noted": "irrelevant"})


@pytest.mark.parametrize(
    "body", ["", "[]", "null", "{", '{"id":"evt_1","livemode":false}', '{"livemode":false}', "\ud800"]
)
def test_p8_what_cannot_be_read_is_refused_loudly(service: Client, body: str) -> None:
    """A signed body that is no event is answered 400, never 2xx and never 500."""
    if body == "\ud800":
        assert send(service, body, signature="t=1,v1=0").status == 400
    else:
        assert send(service, body).status == 400


def test_p8_unknown_members_do_no_harm(service: Client, ann: Client, inner: SqliteStore) -> None:
    """Whatever else an event of a later API version carries, it is stored."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)
    event = event_about(order.key, future={"x": 1}, api_version="2099-01-01")
    event["data"]["object"]["amount_details"] = {"tip": None}

    assert send(service, event).json == {"noted": "stored"}


def test_a_large_event_is_read(service: Client, ann: Client, inner: SqliteStore) -> None:
    """Webhooks are larger than what buyers may send."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)

    assert send(service, event_about(order.key, padding="x" * 100_000)).status == 200
    assert send(service, event_about(order.key, padding="x" * 300_000)).status == 413


def test_a_door_without_secrets_says_come_again(ann: Client, parts: Parts) -> None:
    """Where webhooks are not set up the sender is told to repeat, not that all is well."""
    assert send(Client(build_app(parts), "", ""), event_about(None)).status == 503


def test_many_writers_at_once_are_outlasted(service: Client, ann: Client, inner: SqliteStore) -> None:
    """Whoever writes the order between our read and our write, the news is stored in the end."""
    order = seen(inner, held(inner, ann), PaymentState.OPEN)
    save, left = inner.save, [order] * 20

    def overtaken(wanted: Order, *, seen_rev: int) -> Any:  # noqa: ANN401 - as the store's
        if left:
            left.pop()
            now = stored(inner, order.key.order_id)
            assert save(replace(now, rev=now.rev + 1, op=f"other-{now.rev}"), seen_rev=now.rev).done
        return save(wanted, seen_rev=seen_rev)

    inner.save = overtaken  # type: ignore[method-assign,assignment] # other writers, between read and write

    assert send(service, event_about(order.key)).json == {"noted": "stored"}
    assert stored(inner, order.key.order_id).duties[Duty.CHECK] == 10_000
