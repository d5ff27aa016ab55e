"""Signatures of webhooks: `t=<seconds>,v1=<HMAC-SHA-256 of "t.payload">`, one `v1` for each secret in use.

Source: https://docs.stripe.com/webhooks#verify-manually
"""

import hashlib
import hmac
from collections.abc import Iterable


def signature_header(payload: str, secrets: Iterable[str], at_s: int) -> str:
    """The value of the `Stripe-Signature` header."""
    signed = f"{at_s}.{payload}".encode()
    marks = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={at_s}", *(f"v1={mark}" for mark in marks)])
