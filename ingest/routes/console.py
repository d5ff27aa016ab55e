"""The console's frames, and each card of one alone."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.console.compose import CARDS
from ingest.console.shapes import Card, Frame
from ingest.identity import STAFF_READ
from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from shared.domain.errors import NotFound

_FRAME = "/v1/staff/events/<event_id>/frame"
_TAGS = ["staff"]
# For one person's browser only, and no longer than a frame is the newest.
CACHE = "private, max-age=1"


def register(app: Resolver, parts: Parts) -> None:
    """Put the console's routes on a resolver."""

    @app.get(
        _FRAME,
        summary="Look at a running sale",
        description="All cards of the console, made at most once a second, from bounded reads. The local server sends "
        "them one after another to whoever accepts `text/event-stream`.",
        operation_id="read_frame",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (Frame, "The newest frame.")}, HTTPStatus.NOT_FOUND),
    )
    def frame(event_id: str) -> Response[str]:
        return answer(HTTPStatus.OK, parts.board.frame(parts, event_id), cache=CACHE)

    @app.get(
        f"{_FRAME}/<card>",
        summary="Look at one card",
        description=f"One of {', '.join(CARDS)}; as in the frame.",
        operation_id="read_card",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (Card, "The card.")}, HTTPStatus.NOT_FOUND),
    )
    def card(event_id: str, card: str) -> Response[str]:
        if card not in CARDS:
            raise NotFound(f"There is no such card; there are {', '.join(CARDS)}.")
        shown: Card = getattr(parts.board.frame(parts, event_id), card)
        return answer(HTTPStatus.OK, shown, cache=CACHE)
