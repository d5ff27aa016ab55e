"""What a buyer may send: strict shapes with bounds, so that nothing unexpected goes any further."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shared.domain.sale import MAX_ORDER_QUANTITY

MAX_LINES = 5
MAX_HOLDER_LENGTH = 100


def printable(text: str) -> str:
    """Return the text; ValueError when it is blank or holds control characters, which break lists and receipts."""
    if not text.strip():
        raise ValueError("must not be blank")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ValueError("must not contain control characters")
    return text


class Strict(BaseModel):
    """No unknown members, no conversions: `"2"` is not 2, and 2.0 is not 2."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def __repr__(self) -> str:
        """Show no contents: names and cards come in here, and Powertools writes arguments into its debug log."""
        return type(self).__name__

    __str__ = __repr__


class LineRequest(Strict):
    """Tickets of one type."""

    quantity: int = Field(ge=1, le=MAX_ORDER_QUANTITY, examples=[2])
    ticket_type_id: str = Field(min_length=1, max_length=64, examples=["standing"])


MethodName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]


class OrderRequest(Strict):
    """An order: what is wanted. Its price is the sale's."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"lines": [{"ticket_type_id": "standing", "quantity": 2}], "payment_method": "pm_card_visa"},
                {"lines": [{"ticket_type_id": "standing", "quantity": 1}], "holder": "山田 花子"},
            ]
        }
    )

    holder: Annotated[str, Field(max_length=MAX_HOLDER_LENGTH), AfterValidator(printable)] | None = Field(
        default=None, description="The name to put on the tickets."
    )
    lines: list[LineRequest] = Field(min_length=1, max_length=MAX_LINES)
    payment_method: MethodName | None = Field(
        default=None,
        description="The payment service's name of the card to charge. Without one the order is paid by hand-off: "
        "once seats are held, its status carries a client secret.",
    )

    def fingerprint(self) -> str:
        """Return the SHA-256 of the request as understood: member order and spelled-out defaults do not matter."""
        # Members stand in the order of their names here and in the lines: it is part of every stored fingerprint.
        return hashlib.sha256(self.model_dump_json(exclude_none=True, ensure_ascii=True).encode("ascii")).hexdigest()


class PaymentAttemptRequest(Strict):
    """Another card for an order whose last one was declined."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"payment_method": "pm_card_mastercard"}]})

    payment_method: MethodName = Field(description="The payment service's name of the card to charge.")
