"""What staff and their programs may ask of the queue."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from ingest.paging import MAX_CURSOR_CHARS
from ingest.parked_orders import ParkedFilter
from ingest.requests import Strict
from shared.domain.taken import MAX_TAKEN_AT_ONCE, MAX_VISIBILITY_S, MIN_VISIBILITY_S

MAX_AGE_S = 400 * 86_400
EventId = Annotated[str, Field(min_length=1, max_length=64)]
Visibility = Annotated[
    int,
    Field(ge=MIN_VISIBILITY_S, le=MAX_VISIBILITY_S, description="Seconds for which nobody else is given the order."),
]
ReceiptText = Annotated[str, Field(min_length=1, max_length=400)]


class PullRequest(Strict):
    """How many orders, for how long, of one event or of all."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"max": 10, "visibility_s": 60}]})

    max: int = Field(default=10, ge=1, le=MAX_TAKEN_AT_ONCE)
    visibility_s: Visibility = 60
    event_id: EventId | None = None


class ReceiptRequest(Strict):
    """The receipt that came with the order."""

    receipt: ReceiptText


class ExtendRequest(ReceiptRequest):
    """The receipt, and how much longer, counted from now."""

    visibility_s: Visibility


class ParkedFilterRequest(Strict):
    """Which parked orders; what is left out does not count."""

    event_id: EventId | None = None
    error: str | None = Field(default=None, min_length=1, max_length=200, description="Part of the error's text.")
    duty: str | None = Field(default=None, pattern=r"^[a-z_]{1,20}$", description="What was due; `line`: seats.")
    min_age_s: int | None = Field(default=None, ge=0, le=MAX_AGE_S)
    max_age_s: int | None = Field(default=None, ge=0, le=MAX_AGE_S)

    def filter(self) -> ParkedFilter:
        """Return it as the use cases take it."""
        return ParkedFilter(self.event_id, self.error, self.duty, self.min_age_s, self.max_age_s)


class RedriveRequest(Strict):
    """One order, or a page of all that fit a filter; `dry_run` counts only."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"filter": {"event_id": "gig", "error": "timed out"}, "dry_run": True},
                {"order_id": "1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d"},
            ]
        }
    )

    order_id: str | None = Field(default=None, min_length=1, max_length=64)
    filter: ParkedFilterRequest = ParkedFilterRequest()
    dry_run: bool = False
    limit: int = Field(default=50, ge=1, le=100, description="Orders taken up again by one request at most.")
    cursor: str | None = Field(default=None, min_length=1, max_length=MAX_CURSOR_CHARS)
