"""The OpenAPI document, and a page to try it on that asks nobody outside for anything."""

from __future__ import annotations

import functools
import json
from http import HTTPStatus
from pathlib import Path

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi import swagger_ui

from ingest.openapi import openapi_document
from ingest.parts import Parts
from ingest.resolver import Resolver

_CACHE = "public, max-age=300"
# The page's scripts and styles stand inside it; the policy keeps the browser from asking any other host.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def register(app: Resolver, _: Parts) -> None:
    """Put the routes of the documentation on a resolver."""

    @functools.cache
    def document() -> str:
        return json.dumps(openapi_document(app), separators=(",", ":"))

    @app.get("/openapi.json", include_in_schema=False)
    def openapi() -> Response[str]:
        return Response(
            status_code=HTTPStatus.OK.value,
            content_type="application/json",
            body=document(),
            headers={"Cache-Control": _CACHE},
        )

    @app.get("/docs", include_in_schema=False)
    def page() -> Response[str]:
        return Response(
            status_code=HTTPStatus.OK.value,
            content_type="text/html; charset=utf-8",
            body=_page(document()),
            headers={"Cache-Control": _CACHE, "Content-Security-Policy": _POLICY},
        )


@functools.lru_cache(maxsize=1)
def _page(document: str) -> str:
    files = Path(swagger_ui.__file__).parent
    return swagger_ui.generate_swagger_html(
        # A sentence with a closing tag in it must not end the script it stands in.
        document.replace("</", "<\\/"),
        (files / "swagger-ui-bundle.min.js").read_text(encoding="utf-8"),
        (files / "swagger-ui.min.css").read_text(encoding="utf-8"),
        swagger_base_url="",
        oauth2_config=None,
    )
