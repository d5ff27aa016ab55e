"""Refusals that only a request over HTTP can earn; the families of shared.domain.errors cover the rest."""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain.errors import Invalid, Refused, Unavailable


class Malformed(Refused):
    """The request cannot be read; correct its form and send it again."""

    code = "malformed-request"

    def __init__(self, message: str | None = None, *, field: str = "", code: str | None = None) -> None:
        """Name the `field` or header, where one is to blame, and a stable `code`."""
        super().__init__(message)
        self.field = field
        self.reason = code or self.code


class TooLarge(Refused):
    """The body is too large; send a smaller one."""

    code = "body-too-large"


class UnsupportedBody(Refused):
    """The body must be JSON; send it with `Content-Type: application/json`."""

    code = "unsupported-media-type"


class NotAuthenticated(Refused):
    """A valid bearer token is needed; fetch a new one and repeat the request."""

    code = "not-authenticated"


class NotAllowed(Refused):
    """The token does not allow this; ask for one with the scope that is named."""

    code = "not-allowed"


class MethodNotAllowed(Refused):
    """This address does not take that method; see the `Allow` header."""

    code = "method-not-allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        """Carry the methods the address does take."""
        super().__init__()
        self.allowed = tuple(allowed)


class KeyReused(Invalid):
    """This Idempotency-Key was used with another body; a new wish needs a new key."""

    code = "idempotency-key-reused"


class TooFast(Unavailable):
    """You are ordering faster than people do; repeat the same request after the time named."""

    code = "too-many-orders"


class OverBudget(Unavailable):
    """More orders come in than the sale takes per second; repeat the same request after the time named."""

    code = "over-budget"
