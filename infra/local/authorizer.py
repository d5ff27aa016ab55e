"""What an HTTP API's JWT authorizer does on AWS: verify a bearer token, hand its claims over as strings."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from infra.local.tokens import ALGORITHM
from ingest.errors import NotAuthenticated
from shared.ports.system import Clock

MAX_TOKEN_LENGTH = 8192
# A verification costs about as much as a tenth of a whole request; a buyer who polls brings the same token again.
MAX_REMEMBERED = 20_000
_REQUIRED = ("iss", "aud", "sub", "exp")


class Authorizer:
    """Takes tokens that were signed RS256 with one key, for one issuer and audience, and are valid now."""

    def __init__(self, key: RSAPublicKey, *, issuer: str, audience: str, clock: Clock) -> None:
        """Verify with `key`."""
        self._key = key
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._lock = threading.Lock()
        self._remembered: OrderedDict[str, tuple[int, dict[str, str]]] = OrderedDict()

    def claims(self, authorization: str) -> dict[str, str]:
        """Return the claims of an `Authorization` header; NotAuthenticated when it is no valid bearer token."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN_LENGTH:
            raise NotAuthenticated("The Authorization header must be `Bearer` and a token.")
        now_s = self._clock.now_ms() / 1000
        with self._lock:
            known = self._remembered.get(token)
        if known is not None and now_s < known[0]:
            return known[1]
        claims = self._verify(token, now_s)
        with self._lock:
            self._remembered[token] = (claims["exp"], texts := _texts(claims))
            if len(self._remembered) > MAX_REMEMBERED:
                self._remembered.popitem(last=False)
        return texts

    def _verify(self, token: str, now_s: float) -> dict[str, Any]:
        try:
            claims = jwt.decode(
                token,
                self._key,
                algorithms=[ALGORITHM],
                issuer=self._issuer,
                audience=self._audience,
                options={"require": list(_REQUIRED), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError):
            # Which check failed would help whoever guesses more than whoever mistyped.
            raise NotAuthenticated("The token is not valid here; fetch a new one.") from None
        expires_at_s, valid_from_s = claims["exp"], claims.get("nbf", 0)
        if not _is_number(expires_at_s) or not _is_number(valid_from_s):
            raise NotAuthenticated("The token is not valid here; fetch a new one.")
        if not valid_from_s <= now_s < expires_at_s:
            raise NotAuthenticated("The token has expired or is not valid yet; fetch a new one.")
        return claims


def _is_number(value: Any) -> bool:  # noqa: ANN401 - a claim is whatever the token says
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(claims: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in claims.items()}
