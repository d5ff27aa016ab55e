"""An HTTP request as the event that an API Gateway HTTP API hands to Lambda, payload format 2.0.

Shape: "Create AWS Lambda proxy integrations for HTTP APIs in API Gateway".
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

STAGE = "$default"


def gateway_event(
    scope: Mapping[str, Any], body: bytes, headers: Mapping[str, str], *, request_id: str, now_ms: int
) -> dict[str, Any]:
    """Build the event of one ASGI `http` scope, without an authorizer."""
    query = scope["query_string"].decode("latin-1")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": STAGE,
        "rawPath": scope["path"],
        "rawQueryString": query,
        "headers": {name: value for name, value in headers.items() if name != "cookie"},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": headers.get("host", ""),
            "domainPrefix": "local",
            "http": {
                "method": scope["method"],
                "path": scope["path"],
                "protocol": f"HTTP/{scope['http_version']}",
                "sourceIp": scope["client"][0] if scope.get("client") else "",
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": STAGE,
            "stage": STAGE,
            "time": _log_time(now_ms // 1000),
            "timeEpoch": now_ms,
        },
        "isBase64Encoded": False,
    }
    if query:
        event["queryStringParameters"] = _joined(parse_qsl(query, keep_blank_values=True))
    if "cookie" in headers:
        event["cookies"] = [part.strip() for part in headers["cookie"].split(";")]
    if body:
        event |= _body(body)
    return event


@lru_cache(maxsize=16)
def _log_time(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")


def joined_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Join repeated headers with commas under lower-case names, cookies with semicolons."""
    headers: dict[str, str] = {}
    for name_bytes, value_bytes in raw:
        name, value = name_bytes.decode("latin-1"), value_bytes.decode("latin-1")
        if name in headers:
            headers[name] += ("; " if name == "cookie" else ",") + value
        else:
            headers[name] = value
    return headers


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


def _body(body: bytes) -> dict[str, Any]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode("ascii"), "isBase64Encoded": True}
