"""The OpenAPI document: generated from the routes, with what Powertools cannot know added."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer, License, Server

from ingest.idempotency_key import HEADER, MAX_LENGTH
from ingest.resolver import Resolver
from ingest.routes.documented import SCHEME

TITLE = "Onsale"
VERSION = "1"
DESCRIPTION = (
    "Take every order the second a sale opens; sell every seat once, charge every buyer once.\n\n"
    "Amounts are whole minor units with an ISO 4217 code, times are RFC 3339, errors are `application/problem+json` "
    "with a stable `type`. An answer of 503 carries `Retry-After`: repeat the same request then."
)
# Powertools describes its own error answers, which never leave this API.
_UNUSED = ("HTTPValidationError", "ValidationError", "ResponseValidationError")
# What may be repeated under a key of the caller's.
_KEYED = frozenset({"place_order", "try_payment"})


def openapi_document(app: Resolver) -> dict[str, Any]:
    """Describe all routes of a resolver."""
    text = app.get_openapi_json_schema(
        title=TITLE,
        version=VERSION,
        description=DESCRIPTION,
        servers=[Server(url="/")],
        license_info=License(name="Apache-2.0", identifier="Apache-2.0"),
        security_schemes={
            SCHEME: HTTPBearer(
                bearerFormat="JWT",
                description="RS256, with issuer, audience, expiry and `scope`: `buy`, `staff:read`, `staff:write`.",
            )
        },
    )
    document: dict[str, Any] = json.loads(text)
    for name in _UNUSED:
        document["components"]["schemas"].pop(name, None)
    for methods in document["paths"].values():
        for operation in methods.values():
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
            if operation["operationId"] in _KEYED:
                operation["parameters"].append(_key_parameter())
    return document


def _key_parameter() -> dict[str, Any]:
    return {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": "Names this wish, so that repeating it cannot have it fulfilled twice. Visible ASCII, as a "
        "structured-field string in double quotes or bare.",
        "schema": {"type": "string", "maxLength": MAX_LENGTH + 2},
        "example": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    }
