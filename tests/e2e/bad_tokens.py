"""Tokens that must open nothing, made from a good one without its issuer's key."""

from __future__ import annotations

from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key


def bad_tokens(good: str | None) -> dict[str, str | None]:
    """Return the tokens by what is wrong with them; with None, only the names are of use."""
    token = good or jwt.encode({"sub": "ann"}, "k" * 32, algorithm="HS256")
    header, claims = jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})
    kid = {"kid": header["kid"]} if "kid" in header else {}
    head, body, signature = token.split(".")
    return {
        "absent": None,
        "garbage": "not.a.token",
        "algorithm-none": jwt.encode(claims, "", algorithm="none", headers=kid),
        "hs256": jwt.encode(claims, "a-secret-that-is-long-enough-for-it", algorithm="HS256", headers=kid),
        "other-key": jwt.encode(claims, _stranger(), algorithm="RS256", headers=kid),
        "no-signature": f"{head}.{body}.",
        "other-claims": f"{head}.{jwt.encode({**claims, 'sub': 'zoe'}, 'k' * 32).split('.')[1]}.{signature}",
    }


@cache
def _stranger() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)
