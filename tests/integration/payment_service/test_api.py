"""The service through the official Stripe library, unchanged, over HTTP."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
import requests
import stripe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.payment_service.service import API_KEY, PUBLISHABLE_KEY, client, control

EUR_20 = {"amount": 2000, "currency": "eur"}


def _create(api: stripe.StripeClient, **metadata: str) -> stripe.PaymentIntent:
    return api.v1.payment_intents.create({"amount": 2000, "currency": "eur", "metadata": metadata})


def test_create_then_confirm_takes_the_money_once(api: stripe.StripeClient) -> None:
    """An intent is created open, succeeds when confirmed, and cannot be confirmed or cancelled afterwards."""
    intent = _create(api)
    assert intent.status == "requires_payment_method"
    assert intent.client_secret
    assert intent.client_secret.startswith(intent.id)

    paid = api.v1.payment_intents.confirm(
        intent.id, {"payment_method": "pm_card_visa", "off_session": True, "expand": ["latest_charge"]}
    )

    assert (paid.status, paid.amount_received) == ("succeeded", 2000)
    assert isinstance(paid.latest_charge, stripe.Charge)
    assert paid.latest_charge.captured
    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"})
    assert refused.value.code == "payment_intent_unexpected_state"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.payment_intents.cancel(intent.id)
    assert refused.value.code == "payment_intent_unexpected_state"


@pytest.mark.parametrize(
    ("method_id", "code", "decline_code"),
    [
        ("pm_card_visa_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
        ("pm_card_chargeDeclinedExpiredCard", "expired_card", "expired_card"),
    ],
)
def test_a_decline_is_a_card_error_and_the_intent_stays_open(
    api: stripe.StripeClient, method_id: str, code: str, decline_code: str
) -> None:
    """P9: a declined card is answered 402 with its decline code, and another card pays the same intent."""
    intent = _create(api)

    with pytest.raises(stripe.CardError) as declined:
        api.v1.payment_intents.confirm(intent.id, {"payment_method": method_id})

    assert declined.value.http_status == 402
    assert declined.value.code == code
    assert declined.value.error is not None
    assert declined.value.error.decline_code == decline_code
    assert declined.value.error.payment_intent is not None
    assert declined.value.error.payment_intent.status == "requires_payment_method"
    stored = api.v1.payment_intents.retrieve(intent.id)
    assert stored.last_payment_error is not None
    assert stored.last_payment_error.decline_code == decline_code
    assert api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_ok"}).status == "succeeded"


@pytest.mark.parametrize(("outcome", "status"), [("succeeded", "succeeded"), ("failed", "requires_payment_method")])
def test_a_processing_intent_cannot_be_cancelled_until_it_settles(
    api: stripe.StripeClient, url: str, outcome: str, status: str
) -> None:
    """A slow payment refuses cancellation, and ends as the bank says."""
    intent = _create(api)
    assert api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_processing"}).status == "processing"

    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.payment_intents.cancel(intent.id)
    assert refused.value.code == "payment_intent_unexpected_state"

    control(url, "settle", {"payment_intent": intent.id, "outcome": outcome})
    assert api.v1.payment_intents.retrieve(intent.id).status == status


def test_a_cancelled_intent_takes_no_money(api: stripe.StripeClient) -> None:
    """S5: once cancelled, an intent refuses every card."""
    intent = _create(api)
    assert api.v1.payment_intents.cancel(intent.id, {"cancellation_reason": "abandoned"}).status == "canceled"

    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"})
    assert refused.value.code == "payment_intent_unexpected_state"


def test_refunds_never_exceed_what_was_captured(api: stripe.StripeClient) -> None:
    """P10: 1,900 of 2,000 come back, then at most 100, then nothing."""
    intent = _create(api)
    with pytest.raises(stripe.InvalidRequestError):
        api.v1.refunds.create({"payment_intent": intent.id})
    api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"})

    assert api.v1.refunds.create({"payment_intent": intent.id, "amount": 1900}).status == "succeeded"
    with pytest.raises(stripe.InvalidRequestError) as too_much:
        api.v1.refunds.create({"payment_intent": intent.id, "amount": 101})
    assert too_much.value.param == "amount"
    rest = api.v1.refunds.create({"payment_intent": intent.id})
    assert rest.amount == 100
    with pytest.raises(stripe.InvalidRequestError) as nothing_left:
        api.v1.refunds.create({"payment_intent": intent.id})

    assert nothing_left.value.code == "charge_already_refunded"
    assert api.v1.refunds.retrieve(rest.id).amount == 100
    assert [refund.amount for refund in api.v1.refunds.list({"payment_intent": intent.id}).data] == [100, 1900]


def test_lists_page_through_everything_once(api: stripe.StripeClient) -> None:
    """Paging with a cursor meets each intent once, newest first, within a range of creation times."""
    made = [_create(api).id for _ in range(7)]
    first_s = api.v1.payment_intents.retrieve(made[0]).created

    listed = [
        intent.id
        for intent in api.v1.payment_intents.list({"limit": 3, "created": {"gte": first_s}}).auto_paging_iter()
    ]

    assert [intent_id for intent_id in listed if intent_id in made] == made[::-1]
    assert len(set(listed)) == len(listed)
    assert api.v1.payment_intents.list({"created": {"gt": first_s + 3600}}).data == []


def test_search_finds_by_metadata(api: stripe.StripeClient, url: str) -> None:
    """A search by our own metadata finds the intent, quotes in a value included, and can be late on demand."""
    order = f"o'{uuid.uuid4()}"
    intent = _create(api, order=order, env="test")
    escaped = order.replace("'", "\\'")
    query = f"metadata['order']:'{escaped}' AND metadata[\"env\"]:\"test\" AND status:'requires_payment_method'"

    assert [found.id for found in api.v1.payment_intents.search({"query": query}).data] == [intent.id]
    control(url, "faults", {"search_lag_s": 60})
    assert api.v1.payment_intents.search({"query": query}).data == []


def test_search_pages(api: stripe.StripeClient) -> None:
    """A search continues on its next page until all are found."""
    sale = str(uuid.uuid4())
    made = {_create(api, sale=sale).id for _ in range(5)}

    found = api.v1.payment_intents.search({"query": f"metadata['sale']:'{sale}'", "limit": 2})

    assert sorted(intent.id for intent in found.auto_paging_iter()) == sorted(made)


@pytest.mark.parametrize(
    ("params", "param", "code"),
    [
        ({"currency": "eur"}, "amount", "parameter_missing"),
        ({"amount": 49, "currency": "eur"}, "amount", "amount_too_small"),
        ({"amount": 49, "currency": "jpy"}, "amount", "amount_too_small"),
        ({"amount": 100_000_000, "currency": "eur"}, "amount", "amount_too_large"),
        ({"amount": 150, "currency": "isk"}, "amount", None),
        ({"amount": 1005, "currency": "kwd"}, "amount", None),
        ({"amount": "1.5", "currency": "eur"}, "amount", "parameter_invalid_integer"),
        ({"amount": 1000, "currency": "euros"}, "currency", None),
        ({**EUR_20, "surprise": 1}, "surprise", "parameter_unknown"),
        ({**EUR_20, "payment_method": "pm_unheard_of"}, "payment_method", "resource_missing"),
        ({**EUR_20, "confirm": True}, "payment_method", None),
    ],
)
def test_what_cannot_be_charged_is_refused(
    api: stripe.StripeClient, params: dict[str, Any], param: str, code: str | None
) -> None:
    """R7: parameters that Stripe would refuse are refused with the parameter's name."""
    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.payment_intents.create(cast("Any", params))

    assert (refused.value.http_status, refused.value.param, refused.value.code) == (400, param, code)


def test_the_key_decides_what_may_be_asked(api: stripe.StripeClient, url: str) -> None:
    """A wrong key is answered 401, an unknown intent 404, and a browser's key cannot read without the secret."""
    intent = _create(api)
    with pytest.raises(stripe.AuthenticationError):
        client(url, "sk_test_wrong").v1.payment_intents.retrieve(intent.id)
    with pytest.raises(stripe.InvalidRequestError) as unknown:
        api.v1.payment_intents.retrieve("pi_unknown")
    assert (unknown.value.http_status, unknown.value.code) == (404, "resource_missing")
    browser = client(url, PUBLISHABLE_KEY)
    with pytest.raises(stripe.PermissionError):
        browser.v1.payment_intents.create({"amount": 2000, "currency": "eur"})
    with pytest.raises(stripe.InvalidRequestError):
        browser.v1.payment_intents.retrieve(intent.id)
    with pytest.raises(stripe.InvalidRequestError):
        browser.v1.payment_intents.retrieve(intent.id, {"client_secret": f"{intent.id}_secret_guess"})


def test_the_buyers_browser_pays_with_the_client_secret(api: stripe.StripeClient, url: str) -> None:
    """A hand-off: the publishable key and the client secret pay the intent, and show no metadata."""
    intent = _create(api, order="o-1")
    browser = client(url, PUBLISHABLE_KEY)

    # The library's types know the secret key's parameters only.
    params: Any = {"payment_method": "pm_card_visa", "client_secret": intent.client_secret}
    paid = browser.v1.payment_intents.confirm(intent.id, params)

    assert paid.status == "succeeded"
    assert "metadata" not in paid
    assert api.v1.payment_intents.retrieve(intent.id).status == "succeeded"


def test_the_buyer_proves_who_they_are(api: stripe.StripeClient, url: str) -> None:
    """An intent that requires action is paid once the buyer has passed, and open again when not."""
    for outcome, status in (("failed", "requires_payment_method"), ("succeeded", "succeeded")):
        intent = _create(api)
        waiting = api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_authenticationRequired"})
        assert waiting.status == "requires_action"
        control(url, "authenticate", {"payment_intent": intent.id, "outcome": outcome})
        assert api.v1.payment_intents.retrieve(intent.id).status == status


def test_a_key_brings_back_the_first_answer(api: stripe.StripeClient) -> None:
    """The same key and parameters give the same answer, declines included; others are an idempotency error."""
    key = str(uuid.uuid4())
    first = api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}, {"idempotency_key": key})
    again = api.v1.payment_intents.create({"currency": "eur", "amount": 2000}, {"idempotency_key": key})
    assert again.id == first.id
    assert again.last_response is not None
    assert again.last_response.headers["Idempotent-Replayed"] == "true"

    with pytest.raises(stripe.IdempotencyError):
        api.v1.payment_intents.create({"amount": 2001, "currency": "eur"}, {"idempotency_key": key})
    with pytest.raises(stripe.IdempotencyError):
        api.v1.refunds.create({"payment_intent": first.id}, {"idempotency_key": key})

    for method_id in ("pm_card_chargeDeclined", "pm_card_chargeDeclined"):
        with pytest.raises(stripe.CardError):
            api.v1.payment_intents.confirm(first.id, {"payment_method": method_id}, {"idempotency_key": f"{key}/1"})
    assert len(api.v1.charges.list({"payment_intent": first.id}).data) == 1


def test_an_invalid_request_does_not_spoil_its_key(api: stripe.StripeClient) -> None:
    """What failed validation is not remembered, so the corrected request goes through under the same key."""
    key = str(uuid.uuid4())
    with pytest.raises(stripe.InvalidRequestError):
        api.v1.payment_intents.create({"amount": 1, "currency": "eur"}, {"idempotency_key": key})

    assert api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}, {"idempotency_key": key}).id


def test_twenty_at_once_under_one_key_capture_once(api: stripe.StripeClient, url: str) -> None:
    """P1: twenty threads with one key take the money once; each is told so, or that the key is in use."""
    intent, key, barrier = _create(api), str(uuid.uuid4()), threading.Barrier(20)

    def pay(_: int) -> str:
        own = client(url)
        barrier.wait()
        try:
            return own.v1.payment_intents.confirm(
                intent.id, {"payment_method": "pm_card_visa"}, {"idempotency_key": key}
            ).status
        except stripe.APIError as error:
            return str(error.http_status)

    with ThreadPoolExecutor(20) as pool:
        said = set(pool.map(pay, range(20)))

    assert said <= {"succeeded", "409"}
    assert "succeeded" in said
    charges = api.v1.charges.list({"payment_intent": intent.id}).data
    assert [charge.amount_captured for charge in charges] == [2000]


def test_the_books_tell_what_was_taken(api: stripe.StripeClient, url: str) -> None:
    """The books list each intent with its order, page by page, and the totals agree with the list."""
    order = str(uuid.uuid4())
    intent = _create(api, onsale_order=order)
    api.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"})
    api.v1.refunds.create({"payment_intent": intent.id, "amount": 500})

    page = control(url, "books/orders?limit=10")
    rows = page["orders"]
    while page["next"] is not None:
        page = control(url, f"books/orders?limit=10&after={page['next']}")
        rows += page["orders"]
    totals = control(url, "books")

    mine = [row for row in rows if row["order_id"] == order]
    assert [(row["captured_minor"], row["refunded_minor"], row["captures"]) for row in mine] == [(2000, 500, 1)]
    assert sum(totals["intents"].values()) == len(rows)
    assert totals["money"]["eur"]["captured_minor"] == sum(
        row["captured_minor"] for row in rows if row["currency"] == "eur"
    )
    assert totals["orders_captured_twice"] == []


def test_an_unknown_address_is_named(url: str) -> None:
    """A call that the service does not know is answered 404 in Stripe's shape."""
    with pytest.raises(stripe.InvalidRequestError, match="Unrecognized request URL"):
        client(url, API_KEY).v1.customers.list()


FORMS = st.dictionaries(
    st.sampled_from(
        ("amount", "currency", "payment_method", "metadata[a]", "metadata", "expand[0]", "[", "a[b", "limit")
    )
    | st.text(max_size=8),
    st.sampled_from(("2000", "eur", "pm_ok", "-1", "", "latest_charge", "9" * 30)) | st.text(max_size=8),
)


@given(
    st.sampled_from(("payment_intents", "payment_intents/pi_x/confirm", "payment_intents/pi_x/cancel", "refunds")),
    FORMS,
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_form_makes_it_fail(url: str, path: str, form: dict[str, str]) -> None:
    """Whatever is posted is answered in Stripe's shape, never with 500."""
    headers = {"Authorization": f"Bearer {API_KEY}"}
    answer = requests.post(f"{url}/v1/{path}", data=form, headers=headers, timeout=10)

    assert answer.status_code < 500
    assert answer.status_code == 200 or answer.json()["error"]["type"] == "invalid_request_error"


@given(st.text(max_size=40) | st.sampled_from(("metadata['a']:'b' AND", "created>1 AND amount:5", "status:'odd'")))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_search_makes_it_fail(url: str, query: str) -> None:
    """Whatever is searched for is found, not found, or refused."""
    headers = {"Authorization": f"Bearer {API_KEY}"}
    answer = requests.get(f"{url}/v1/payment_intents/search", params={"query": query}, headers=headers, timeout=10)
    assert answer.status_code in {200, 400}
