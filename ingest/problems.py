"""Every refusal and failure as problem+json (RFC 9457): the only place that knows HTTP's error codes.

`type` is a URN that never changes for a kind of problem; programs branch on it, people read `detail`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field

from ingest.errors import (
    Malformed,
    MethodNotAllowed,
    NotAllowed,
    NotAuthenticated,
    TooFast,
    TooLarge,
    UnsupportedBody,
)
from shared.domain.errors import Conflicting, Invalid, NotFound, OnsaleError, Refused, Unavailable
from shared.ports.system import Ids

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:onsale:problem:"
MAX_FAULTS = 10
MAX_FIELD_LENGTH = 100

# Nearest class first.
_CODES: Mapping[type[OnsaleError], HTTPStatus] = {
    Malformed: HTTPStatus.BAD_REQUEST,
    NotAuthenticated: HTTPStatus.UNAUTHORIZED,
    NotAllowed: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    Conflicting: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedBody: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    Refused: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooFast: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}


class Fault(BaseModel):
    """One member of the body that breaks a rule."""

    field: str = Field(description="Dotted path into the body, such as `lines.0.quantity`.")
    message: str
    code: str


class Problem(BaseModel):
    """What went wrong, for programs (`type`) and people (`detail`)."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": f"{TYPE_PREFIX}not-on-sale-yet",
                    "title": "Not on sale yet",
                    "status": 409,
                    "detail": "The sale opens at 2027-03-01T09:00:00.000Z.",
                    "opens_at": "2027-03-01T09:00:00.000Z",
                }
            ]
        },
    )

    type: str = Field(description=f"`{TYPE_PREFIX}` and a stable code.")
    title: str
    status: int
    detail: str
    field: str | None = Field(default=None, description="The member or header to correct.")
    faults: list[Fault] | None = None
    retry_after_s: float | None = Field(
        default=None, description="Seconds after which to repeat the same request; `Retry-After` is rounded up."
    )


def problem_of(error: Refused | Unavailable, ids: Ids) -> Response[str]:
    """Answer a refusal, or that it may be tried later; `Broken` and anything else is `unexpected_problem`'s."""
    status = next(code for family, code in _CODES.items() if isinstance(error, family))
    members: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, Invalid | Malformed) and error.field:
        members["field"] = error.field
    elif isinstance(error, Conflicting):
        members |= error.details
    elif isinstance(error, Unavailable):
        # A second and a bit, unless the error knows better: never all at the same moment.
        wait_s = error.retry_after_s if error.retry_after_s is not None else 1 + 2 * ids.fraction()
        members["retry_after_s"] = round(wait_s, 3)
        headers["Retry-After"] = str(max(1, math.ceil(wait_s)))
    elif isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, NotAllowed):
        headers["WWW-Authenticate"] = 'Bearer error="insufficient_scope"'
    elif isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return _problem(code_of(error), status, error.message, headers, members)


def code_of(error: OnsaleError) -> str:
    """Return the stable code of a problem: the refusal's own, where it has one."""
    return error.reason if isinstance(error, Conflicting | Invalid | Malformed) else error.code


def validation_problem(error: RequestValidationError) -> Response[str]:
    """Answer a body that has not the shape the route asks for, naming the first members at fault."""
    faults = [
        Fault(field=_path(fault["loc"]), message=str(fault["msg"]), code=str(fault["type"]))
        for fault in error.errors()[:MAX_FAULTS]
    ]
    first = faults[0]
    detail = f"{first.field or 'The body'}: {first.message}."
    members = {"field": first.field, "faults": [fault.model_dump() for fault in faults]}
    return _problem("invalid", HTTPStatus.UNPROCESSABLE_ENTITY, detail, {}, members)


def unexpected_problem() -> Response[str]:
    """Answer what nobody foresaw; the log has the rest under the same correlation id."""
    detail = "Something went wrong on our side; repeat the same request, and name its correlation id if it fails again."
    return _problem("unexpected", HTTPStatus.INTERNAL_SERVER_ERROR, detail, {}, {})


def _problem(
    code: str, status: HTTPStatus, detail: str, headers: Mapping[str, str], members: Mapping[str, Any]
) -> Response[str]:
    problem = Problem(
        type=TYPE_PREFIX + code,
        title=code.replace("-", " ").capitalize(),
        status=status.value,
        detail=detail,
        **members,
    )
    return Response(
        status_code=status.value,
        content_type=CONTENT_TYPE,
        body=problem.model_dump_json(exclude_none=True),
        headers={"Cache-Control": "no-store", **headers},
    )


def _path(loc: tuple[str | int, ...]) -> str:
    """Write where in the body; a member's name comes from the sender, so it is cut and made printable."""
    parts = loc[1:] if loc[:1] == ("body",) else loc
    text = ".".join(str(part) for part in parts)
    return text[:MAX_FIELD_LENGTH].encode("utf-8", "replace").decode("utf-8")
