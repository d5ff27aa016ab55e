"""The `Idempotency-Key` header of draft-ietf-httpapi-idempotency-key-header, as a structured string or a bare token."""

from __future__ import annotations

import re

from ingest.errors import Malformed

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
# RFC 8941 strings, without the space: `"…"` with \" and \\ escaped. Whoever sends the header twice has it joined by a
# comma on the way (RFC 9110, 5.3), so outside of quotes no comma is part of a key.
_QUOTED = re.compile(r'"((?:[!#-\[\]-~]|\\["\\])*)"')
_BARE = re.compile(r"[!#-+\--~]+")


def read_idempotency_key(header: str | None) -> str | None:
    """Return the key, None without the header; Malformed when it is empty, doubled, too long or not visible ASCII."""
    if header is None:
        return None
    text = header.strip(" \t")
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    elif _BARE.fullmatch(text):
        key = text
    else:
        key = ""
    if not 0 < len(key) <= MAX_LENGTH:
        raise Malformed(
            f"{HEADER} stands once, with 1 to {MAX_LENGTH} visible ASCII characters, such as a UUID in double quotes.",
            field=HEADER,
            code="bad-idempotency-key",
        )
    return key
