"""Staff look at parked orders and have them taken up again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from ingest.audit_trail import Actor
from ingest.identity import STAFF_READ, STAFF_WRITE
from ingest.paging import MAX_CURSOR_CHARS
from ingest.parked_orders import ParkedFilter, ParkedPage, find_parked, list_parked, redrive_order, redrive_page
from ingest.parts import Parts
from ingest.queue_requests import MAX_AGE_S, RedriveRequest
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.staff_order_answers import (
    ParkedPageAnswer,
    RedriveAnswer,
    StaffOrderAnswer,
    parked_page_answer,
    redrive_answer,
    staff_order_answer,
)

_PARKED = "/v1/staff/parked"
_TAGS = ["staff"]
_Event = Annotated[str | None, Query(min_length=1, max_length=64)]
_Text = Annotated[str | None, Query(min_length=1, max_length=200)]
_Duty = Annotated[str | None, Query(pattern=r"^[a-z_]{1,20}$")]
_Age = Annotated[int | None, Query(ge=0, le=MAX_AGE_S)]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes on a resolver."""

    @app.get(
        _PARKED,
        summary="List parked orders",
        description="By event, shard and time of parking. `error` is part of the error's text, ages count from the "
        "parking. A page reads a bounded number of shards: go on with `cursor` until there is none.\n\n"
        '```sh\ncurl -H "Authorization: Bearer $TOKEN" \\\n'
        '  "$ONSALE_URL/v1/staff/parked?event_id=gig&error=timed%20out&min_age_s=600"\n```',
        operation_id="list_parked",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (ParkedPageAnswer, "A page.")}, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    def list_all(
        event_id: _Event = None,
        error: _Text = None,
        duty: _Duty = None,
        min_age_s: _Age = None,
        max_age_s: _Age = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 50,
        cursor: Annotated[str | None, Query(min_length=1, max_length=MAX_CURSOR_CHARS)] = None,
    ) -> Response[str]:
        wanted = ParkedFilter(event_id, error, duty, min_age_s, max_age_s)
        page = list_parked(parts, wanted, cursor=cursor, limit=limit)
        return answer(HTTPStatus.OK, parked_page_answer(page, parts.clock.now_ms()))

    @app.get(
        f"{_PARKED}/<order_id>",
        summary="Read a parked order",
        description="With its error, its history, its seats, its money and its duties. Without `event_id` every sale "
        "is asked.",
        operation_id="read_parked",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (StaffOrderAnswer, "The order.")}, HTTPStatus.NOT_FOUND),
    )
    def read(order_id: str, event_id: _Event = None) -> Response[str]:
        order = find_parked(parts, order_id, event_id)
        return answer(HTTPStatus.OK, staff_order_answer(order, parts.clock.now_ms()))

    @app.post(
        f"{_PARKED}/redrive",
        summary="Take parked orders up again",
        description="One by `order_id`, or a page of all that fit `filter`: go on with `cursor` until there is none, "
        "at your own pace. With `dry_run` it only counts. Orders that are parked again meanwhile are left to another "
        "walk.\n\n"
        '```sh\ncurl -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        '  -d \'{"filter": {"event_id": "gig"}, "dry_run": true}\' "$ONSALE_URL/v1/staff/parked/redrive"\n```',
        operation_id="redrive_parked",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {200: (RedriveAnswer, "What it came to.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, body=True
        ),
    )
    def redrive(body: RedriveRequest) -> Response[str]:
        actor = Actor(app.identity.subject)
        if body.order_id is not None:
            event_id = body.filter.event_id
            if body.dry_run:
                page = ParkedPage([find_parked(parts, body.order_id, event_id)], examined=1)
            else:
                page = ParkedPage([redrive_order(parts, actor, body.order_id, event_id)], examined=1, redriven=1)
        else:
            page = redrive_page(
                parts, actor, body.filter.filter(), cursor=body.cursor, limit=body.limit, dry_run=body.dry_run
            )
        return answer(HTTPStatus.OK, redrive_answer(page))
