"""Staff look at a sale's queue without touching it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from ingest.change_sale import standing_sale
from ingest.identity import STAFF_READ
from ingest.parts import Parts
from ingest.queue_answers import PeekAnswer, QueueAnswer, peek_answer, queue_answer
from ingest.queue_look import MAX_PEEK, look_at_queue, peek
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from shared.domain.order import Lane
from shared.domain.sale import MAX_SHARDS

_QUEUE = "/v1/staff/events/<event_id>/queue"
_TAGS = ["staff"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes on a resolver."""

    @app.get(
        _QUEUE,
        summary="Measure a sale's queue",
        description="Depth, oldest age and counts by status, of the sale and of every shard. A look costs at most a "
        "few thousand index entries and is shared by all who ask within two seconds. An order that cannot be worked on "
        "hides nobody.\n\n"
        '```sh\ncurl -H "Authorization: Bearer $TOKEN" "$ONSALE_URL/v1/staff/events/gig/queue"\n```',
        operation_id="queue_stats",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (QueueAnswer, "The queue.")}, HTTPStatus.NOT_FOUND),
    )
    def stats(event_id: str) -> Response[str]:
        standing_sale(parts, event_id)
        look = parts.looks.get(event_id, lambda: look_at_queue(parts, event_id))
        return answer(HTTPStatus.OK, queue_answer(look, parts.clock.now_ms()))

    @app.get(
        f"{_QUEUE}/peek",
        summary="Look at the first orders of a lane",
        description="Nothing is taken, moved or hidden. `lane` is `line` (waits for seats), `timer` (for a time or the "
        "payment service), `fulfil` (for a program) or `parked` (for a person).\n\n"
        '```sh\ncurl -H "Authorization: Bearer $TOKEN" \\\n'
        '  "$ONSALE_URL/v1/staff/events/gig/queue/peek?lane=line&limit=5"\n```',
        operation_id="queue_peek",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers(
            {200: (PeekAnswer, "The earliest entries.")}, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY
        ),
    )
    def look(
        event_id: str,
        lane: Annotated[Lane, Query()] = Lane.LINE,
        shard: Annotated[int | None, Query(ge=0, lt=MAX_SHARDS)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PEEK)] = 20,
    ) -> Response[str]:
        found, silent = peek(parts, event_id, lane, shard=shard, limit=limit)
        return answer(HTTPStatus.OK, peek_answer(event_id, lane, found, silent, parts.clock.now_ms()))
