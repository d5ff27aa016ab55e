"""Errors in Stripe's shape: `{"error": {"type", "code", "message", ...}}` with Stripe's status codes.

Source of types, codes and status codes: https://docs.stripe.com/api/errors and https://docs.stripe.com/error-codes
"""

from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """A request that is answered with an error; raised only before anything was written.

    `saved`: whether the answer is kept under the request's idempotency key. Stripe keeps what was answered after the
    work began, and does not keep what failed validation or met a concurrent request.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        saved: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.code = code
        self.param = param
        self.saved = saved
        self.extra = extra or {}

    def body(self) -> dict[str, Any]:
        """The JSON body: absent members are left out, as Stripe does."""
        error: dict[str, Any] = {"type": self.kind, "message": self.message}
        if self.code is not None:
            error["code"] = self.code
            error["doc_url"] = f"https://stripe.com/docs/error-codes/{self.code.replace('_', '-')}"
        if self.param is not None:
            error["param"] = self.param
        return {"error": {**error, **self.extra}}


def invalid(message: str, *, param: str | None = None, code: str | None = None) -> ApiError:
    """A request that cannot be carried out as it stands (400); not kept under the idempotency key."""
    return ApiError(400, "invalid_request_error", message, code=code, param=param)


def missing(kind: str, object_id: str, *, param: str = "id", status: int = 404) -> ApiError:
    """An object that does not exist (404; 400 where it is named by a parameter)."""
    return ApiError(
        status, "invalid_request_error", f"No such {kind}: '{object_id}'", code="resource_missing", param=param
    )


def unexpected_state(message: str, intent: Mapping[str, Any]) -> ApiError:
    """An intent that is not in a state for this call (400, `payment_intent_unexpected_state`)."""
    return ApiError(
        400,
        "invalid_request_error",
        message,
        code="payment_intent_unexpected_state",
        saved=True,
        extra={"payment_intent": intent},
    )


def server_error() -> ApiError:
    """The service failed; whether the work was done is not known to the caller (500)."""
    return ApiError(500, "api_error", "An unknown error occurred. Repeat the request with the same idempotency key.")


def unauthorized(message: str) -> ApiError:
    """A missing or wrong API key (401)."""
    return ApiError(401, "invalid_request_error", message)
