"""Who asks: the claims that the gateway's JWT authorizer has verified, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ingest.errors import NotAllowed, NotAuthenticated

BUY = "buy"
STAFF_READ = "staff:read"
STAFF_WRITE = "staff:write"
SCOPES = (BUY, STAFF_READ, STAFF_WRITE)

# Long enough for every identity provider's subject, short enough to be part of an item's key.
MAX_SUBJECT_BYTES = 256


class Identity(Struct, frozen=True):
    """The token's subject and scopes."""

    subject: str
    scopes: frozenset[str]

    def require(self, *scopes: str) -> None:
        """Raise NotAllowed with none of the scopes."""
        if not any(self.has(scope) for scope in scopes):
            raise NotAllowed(f"This needs a token with the scope {' or '.join(scopes)}.")

    def has(self, scope: str) -> bool:
        """Say whether the token carries the scope. Whoever may write for staff may read for staff."""
        return scope in self.scopes or (scope == STAFF_READ and STAFF_WRITE in self.scopes)


# Owns nothing and may do nothing: who stands at the door of a public route.
NOBODY = Identity("", frozenset())


def identify(event: Mapping[str, Any]) -> Identity:
    """Read `requestContext.authorizer.jwt.claims`; NotAuthenticated when there are none.

    Shape: "Create AWS Lambda proxy integrations for HTTP APIs", payload format 2.0. API Gateway hands every claim
    over as a string; `scope` holds the scopes with spaces between (RFC 9068).
    """
    authorizer = event["requestContext"].get("authorizer") or {}
    claims = (authorizer.get("jwt") or {}).get("claims")
    if not isinstance(claims, Mapping):
        raise NotAuthenticated
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < _size(subject) <= MAX_SUBJECT_BYTES:
        raise NotAuthenticated
    scopes = claims.get("scope")
    return Identity(subject, frozenset(scopes.split()) if isinstance(scopes, str) else frozenset())


def _size(subject: str) -> int:
    """Return how many bytes it takes; 0 for half a character, which no key can hold."""
    try:
        return len(subject.encode("utf-8"))
    except UnicodeEncodeError:
        return 0
