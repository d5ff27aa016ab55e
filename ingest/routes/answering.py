"""A shape becomes an HTTP answer."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

PRIVATE = "no-store"


def answer(status: HTTPStatus, body: BaseModel, *, cache: str = PRIVATE, location: str | None = None) -> Response[str]:
    """Write the body as JSON without its absent members."""
    headers = {"Cache-Control": cache}
    if location is not None:
        headers["Location"] = location
    return Response(
        status_code=status.value,
        content_type="application/json",
        body=body.model_dump_json(exclude_none=True),
        headers=headers,
    )
