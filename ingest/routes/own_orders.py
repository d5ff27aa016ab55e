"""A buyer's own orders over all events."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from ingest.identity import BUY
from ingest.own_orders import MAX_CURSOR_CHARS, list_own_orders
from ingest.own_orders_answers import OwnOrdersAnswer, own_orders_answer
from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from shared.ports.buyer_orders import MAX_PAGE


def register(app: Resolver, parts: Parts) -> None:
    """Put the route on a resolver."""

    @app.get(
        "/v1/orders",
        summary="List one's own orders",
        description="Over all events, newest first, seconds late; the order's own address has its present state. Go on "
        "with `cursor` until there is none.\n\n"
        '```sh\ncurl -H "Authorization: Bearer $TOKEN" "$ONSALE_URL/v1/orders?limit=20"\n```',
        operation_id="list_own_orders",
        tags=["orders"],
        security=needs(BUY),
        responses=answers({200: (OwnOrdersAnswer, "A page of the caller's orders.")}, HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    def list_own(
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 20,
        cursor: Annotated[str | None, Query(min_length=1, max_length=MAX_CURSOR_CHARS)] = None,
    ) -> Response[str]:
        page = list_own_orders(parts, app.identity.subject, limit=limit, cursor=cursor)
        return answer(HTTPStatus.OK, own_orders_answer(page, parts.clock.now_ms()))
