"""What each GET of the API answers, from what is committed."""

import json
from collections.abc import Callable
from typing import Any

from infra.local.payment_service import render
from infra.local.payment_service.actions import Call, check_secret
from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import missing
from infra.local.payment_service.idempotency import Answer
from infra.local.payment_service.params import Params
from infra.local.payment_service.queries import Filter, Page, list_rows, read_created, read_page
from infra.local.payment_service.records import Intent
from infra.local.payment_service.rows import to_charge, to_event, to_intent, to_refund
from infra.local.payment_service.searching import search_filters

# (books, parameters, call, id from the path) -> answer
Read = Callable[[Books, Params, Call, str], Answer]


def get_intent(books: Books, params: Params, call: Call, intent_id: str) -> Answer:
    """GET /v1/payment_intents/{id}."""
    secret = params.text("client_secret")
    params.ignore("key")
    params.finish()
    intent = books.intent(intent_id)
    if intent is None:
        raise missing("payment_intent", intent_id, param="intent")
    check_secret(intent, call, secret)
    shown = render.public_intent_json(intent) if call.public else _intent_json(books, call, intent, "latest_charge")
    return Answer.of(shown)


def list_intents(books: Books, params: Params, call: Call, _object_id: str) -> Answer:
    """GET /v1/payment_intents."""
    page, filters = read_page(params), read_created(params.mapping("created"))
    params.finish()
    rows, more = list_rows(books, "intents", "payment_intent", page, filters)
    data = [_intent_json(books, call, to_intent(row), "data.latest_charge") for row in rows]
    return Answer.of(render.list_json("/v1/payment_intents", data, has_more=more))


def search_intents(books: Books, params: Params, call: Call, _object_id: str) -> Answer:
    """GET /v1/payment_intents/search; new intents may show up late, as on Stripe."""
    filters, after = search_filters(params.needed("query")), params.text("page")
    page = Page(read_page(params).limit, after)
    params.finish()
    filters.append(Filter("created_at_ms <= ?", (call.now_ms - call.search_lag_ms,)))
    rows, more = list_rows(books, "intents", "payment_intent", page, filters)
    data = [_intent_json(books, call, to_intent(row), "data.latest_charge") for row in rows]
    return Answer.of(render.search_json("/v1/payment_intents/search", data, data[-1]["id"] if more else None))


def get_charge(books: Books, params: Params, _call: Call, charge_id: str) -> Answer:
    """GET /v1/charges/{id}."""
    params.finish()
    charge = books.charge(charge_id)
    intent = books.intent(charge.intent_id) if charge else None
    if charge is None or intent is None:
        raise missing("charge", charge_id)
    return Answer.of(render.charge_json(charge, intent))


def list_charges(books: Books, params: Params, _call: Call, _object_id: str) -> Answer:
    """GET /v1/charges."""
    page, filters, intent_id = read_page(params), read_created(params.mapping("created")), params.text("payment_intent")
    params.finish()
    if intent_id is not None:
        filters.append(Filter("intent_id = ?", (intent_id,)))
    rows, more = list_rows(books, "charges", "charge", page, filters)
    charges = [to_charge(row) for row in rows]
    data = [render.charge_json(charge, intent) for charge in charges if (intent := books.intent(charge.intent_id))]
    return Answer.of(render.list_json("/v1/charges", data, has_more=more))


def get_refund(books: Books, params: Params, _call: Call, refund_id: str) -> Answer:
    """GET /v1/refunds/{id}."""
    params.finish()
    refund = books.refund(refund_id)
    if refund is None:
        raise missing("refund", refund_id)
    return Answer.of(render.refund_json(refund))


def list_refunds(books: Books, params: Params, _call: Call, _object_id: str) -> Answer:
    """GET /v1/refunds, of one intent, of one charge, or all."""
    page, filters = read_page(params), read_created(params.mapping("created"))
    for name, column in (("payment_intent", "intent_id"), ("charge", "charge_id")):
        if (wanted := params.text(name)) is not None:
            filters.append(Filter(f"{column} = ?", (wanted,)))
    params.finish()
    rows, more = list_rows(books, "refunds", "refund", page, filters)
    return Answer.of(
        render.list_json("/v1/refunds", [render.refund_json(to_refund(row)) for row in rows], has_more=more)
    )


def get_event(books: Books, params: Params, _call: Call, event_id: str) -> Answer:
    """GET /v1/events/{id}."""
    params.finish()
    event = books.event(event_id)
    if event is None:
        raise missing("event", event_id)
    return Answer(200, event.payload)


def list_events(books: Books, params: Params, _call: Call, _object_id: str) -> Answer:
    """GET /v1/events, of one type, or all."""
    page, filters, kind = read_page(params), read_created(params.mapping("created")), params.text("type")
    params.finish()
    if kind is not None:
        filters.append(Filter("type = ?", (kind,)))
    rows, more = list_rows(books, "events", "event", page, filters)
    data = [json.loads(to_event(row).payload) for row in rows]
    return Answer.of(render.list_json("/v1/events", data, has_more=more))


def _intent_json(books: Books, call: Call, intent: Intent, expanded_as: str) -> dict[str, Any]:
    expands = expanded_as in call.expand and intent.latest_charge is not None
    return render.intent_json(intent, books.charge(intent.latest_charge or "") if expands else None)
