"""How a route is described in the OpenAPI document: its answers, its problems, who may call it."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse
from pydantic import BaseModel

from ingest.problems import CONTENT_TYPE, Problem

SCHEME = "token"

_WHEN = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read, or the `Idempotency-Key` is malformed.",
    HTTPStatus.UNAUTHORIZED: "No valid bearer token.",
    HTTPStatus.FORBIDDEN: "The token lacks the scope.",
    HTTPStatus.NOT_FOUND: "Nothing here, or not yours.",
    HTTPStatus.CONFLICT: "The present state does not allow it; `type` says why.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not sent as JSON.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "The body breaks a rule where `field` says, or the key was used for another body.",
    HTTPStatus.TOO_MANY_REQUESTS: "This buyer orders too fast; repeat after `Retry-After`.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too many at once, or the store is silent; repeat after `Retry-After`.",
}
_WITH_BODY = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


def answers(
    good: dict[int, tuple[type[BaseModel], str]],
    *problems: HTTPStatus,
    body: bool = False,
    token: bool = True,
    headers: dict[str, str] | None = None,
) -> dict[int, OpenAPIResponse]:
    """Describe a route's answers: `good` by status with model and meaning, then its problems."""
    wanted = set(problems) | {HTTPStatus.SERVICE_UNAVAILABLE}
    if body:
        wanted |= set(_WITH_BODY)
    if token:
        wanted |= {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    described: dict[int, OpenAPIResponse] = {
        status: {
            "description": meaning,
            "content": {"application/json": {"model": model}},
            "headers": {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}
            if headers
            else {},
        }
        for status, (model, meaning) in good.items()
    }
    for status in sorted(wanted):
        described[status.value] = {"description": _WHEN[status], "content": {CONTENT_TYPE: {"model": Problem}}}
    return described


def needs(*scopes: str) -> list[dict[str, list[str]]]:
    """Say which scopes, any of them, let somebody in; the resolver holds every request to it."""
    return [{SCHEME: [scope]} for scope in scopes]
