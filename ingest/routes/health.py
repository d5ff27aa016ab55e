"""Health, for load balancers and people."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.responses import HealthAnswer
from ingest.routes.answering import answer
from ingest.routes.documented import answers


def register(app: Resolver, parts: Parts) -> None:
    """Put the health route on a resolver."""

    @app.get(
        "/healthz",
        summary="Ask whether this process can do its work",
        operation_id="health",
        tags=["operations"],
        enable_validation=False,
        responses=answers({200: (HealthAnswer, "The process runs and the store answers.")}, token=False),
    )
    def health() -> Response[str]:
        parts.health.check()
        return answer(HTTPStatus.OK, HealthAnswer(status="ok"))
