"""The public's view of a sale."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.live import LiveAnswer, live_answer
from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.responses import EventAnswer, event_answer
from ingest.routes.answering import answer
from ingest.routes.documented import answers

# As old as the cached sale may be, and as much again for caches on the way.
CACHE = "public, max-age=2"


def register(app: Resolver, parts: Parts) -> None:
    """Put the public routes on a resolver."""

    @app.get(
        "/v1/events/<event_id>",
        summary="Read a sale",
        description="Times, prices and availability in words: available, last, waiting (all seats are held, some may "
        "come back), gone. `server_time` is for countdowns.",
        operation_id="read_event",
        tags=["events"],
        enable_validation=False,
        responses=answers({200: (EventAnswer, "The sale.")}, HTTPStatus.NOT_FOUND, token=False),
    )
    def read(event_id: str) -> Response[str]:
        view = parts.sales.get(event_id)
        return answer(HTTPStatus.OK, event_answer(view, parts.clock.now_ms()), cache=CACHE)

    @app.get(
        "/v1/events/<event_id>/live",
        summary="Follow a sale",
        description="One small frame, the same for everybody: availability, and how far the line has come. The local "
        "server sends one after another to whoever accepts `text/event-stream`.",
        operation_id="follow_event",
        tags=["events"],
        enable_validation=False,
        responses=answers({200: (LiveAnswer, "How the sale goes.")}, HTTPStatus.NOT_FOUND, token=False),
    )
    def follow(event_id: str) -> Response[str]:
        view = parts.sales.get(event_id)
        return answer(HTTPStatus.OK, live_answer(view, parts.clock.now_ms()), cache=CACHE)
