"""The body before anything looks inside: its size, its kind, its encoding."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from ingest.errors import Malformed, TooLarge, UnsupportedBody

MAX_BODY_BYTES = 4 * 1024
# A sale of 50 ticket types and 20 pools, with long names in a wide alphabet.
MAX_STAFF_BODY_BYTES = 64 * 1024
STAFF_PREFIX = "/v1/staff/"
# A whole object of the payment service's with everything it can be expanded by.
MAX_WEBHOOK_BODY_BYTES = 256 * 1024
WEBHOOK_PREFIX = "/v1/webhooks/"
JSON = "application/json"


def body_limit(path: str) -> int:
    """Return how many bytes a body may have at this address."""
    if path.startswith(WEBHOOK_PREFIX):
        return MAX_WEBHOOK_BODY_BYTES
    return MAX_STAFF_BODY_BYTES if path.startswith(STAFF_PREFIX) else MAX_BODY_BYTES


def with_plain_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with its body as text; TooLarge, UnsupportedBody or Malformed when that cannot be had."""
    text = event.get("body") or ""
    limit = body_limit(event["rawPath"])
    if event.get("isBase64Encoded"):
        text = _decode(text, limit)
    elif len(text) > limit or len(text.encode("utf-8", "surrogatepass")) > limit:
        raise TooLarge(f"The body may have {limit} bytes.")
    kind = event["headers"].get("content-type", JSON).partition(";")[0].strip().lower()
    if text and kind != JSON:
        raise UnsupportedBody
    # Spelled as Powertools compares it; without a body no other kind matters either.
    headers = {**event["headers"], "content-type": JSON}
    return {**event, "headers": headers, "body": text, "isBase64Encoded": False}


def read_json(text: str) -> dict[str, Any]:
    """Parse a body that must be one JSON object; Malformed when it is not.

    Numbers outside every range, NaN and lone surrogates come through: the model that reads them next refuses them
    and can name the field.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("The body is not JSON that can be read.", code="malformed-json") from None
    if not isinstance(value, dict):
        raise Malformed("The body must be a JSON object.", code="malformed-json")
    return value


def _decode(encoded: str, limit: int) -> str:
    # Four characters carry three bytes, so what is longer need not be decoded to be refused.
    if len(encoded) > limit * 4 // 3 + 4:
        raise TooLarge(f"The body may have {limit} bytes.")
    try:
        data = base64.b64decode(encoded, validate=True)
        if len(data) > limit:
            raise TooLarge(f"The body may have {limit} bytes.")
        return data.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise Malformed("The body is not UTF-8 text.", code="malformed-json") from None
