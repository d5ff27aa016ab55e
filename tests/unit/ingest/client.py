"""Calls the door as API Gateway does, without HTTP."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from aws_lambda_powertools.utilities.typing import LambdaContext

from ingest.door import Door

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, its body read where it is JSON."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        return json.loads(self.text)

    @property
    def problem(self) -> str:
        """The problem type's last part, after a look at the rest of it."""
        problem = self.json
        assert self.headers["Content-Type"] == "application/problem+json"
        assert problem["status"] == self.status
        assert problem["title"]
        assert problem["detail"]
        return str(problem["type"]).removeprefix("urn:onsale:problem:")


def make_event(
    method: str,
    path: str,
    *,
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    claims: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make an event of payload format 2.0; `claims` as the authorizer hands them over, a query as part of `path`."""
    path, _, query = path.partition("?")
    context: dict[str, Any] = {
        "http": {"method": method, "path": path, "sourceIp": "203.0.113.1"},
        "requestId": f"request-{next(_numbers)}",
        "stage": "$default",
    }
    if claims is not None:
        context["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": dict(headers or {}),
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if query:
        event["queryStringParameters"] = dict(parse_qsl(query, keep_blank_values=True))
    if isinstance(body, bytes):
        event |= {"body": base64.b64encode(body).decode("ascii"), "isBase64Encoded": True}
    elif body is not None:
        event["body"] = body
    return event


class Client:
    """One person at the door."""

    def __init__(self, door: Door, subject: str, scope: str) -> None:
        """Ask as `subject`, whose token has the scopes `scope`."""
        self.door = door
        self._claims = {"sub": subject, "scope": scope}

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request; `body` is written as JSON, `raw` as it stands."""
        text = raw if raw is not None or body is None else json.dumps(body)
        sent = {"content-type": "application/json", **(headers or {})}
        answer = self.door(make_event(method, path, body=text, headers=sent, claims=self._claims), LambdaContext())
        assert not answer["isBase64Encoded"]
        return Reply(answer["statusCode"], answer["headers"], answer["body"])

    def order(self, quantity: object = 1, *, key: str | None = None, event_id: str = "gig", **more: object) -> Reply:
        """Place an order of standing tickets."""
        body = {"lines": [{"ticket_type_id": "standing", "quantity": quantity}], **more}
        return self.ask(
            "POST", f"/v1/events/{event_id}/orders", body, headers={} if key is None else {"idempotency-key": key}
        )
