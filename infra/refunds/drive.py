"""Drives the refunds of a cancelled sale through the API, page by page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from infra.cli.api import Api
from infra.verify.read import patiently

PAGE = 25
# Between rounds: workers carry out what was ordered.
ROUND_S = 1.0


@dataclass(slots=True)
class Totals:
    """What a walk over all orders counted, as they stood; amounts in minor units of the sale's currency."""

    orders: int = 0
    ordered: int = 0
    confirmed: int = 0
    waiting: int = 0
    parked: int = 0
    captured_minor: int = 0
    refunded_minor: int = 0
    owed_minor: int = 0
    kept_minor: int = 0
    seconds: float = 0.0

    def add(self, page: dict[str, Any]) -> None:
        """Add a page's figures."""
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + int(page[name]))

    @property
    def done(self) -> bool:
        """Say whether nobody keeps a ticket and no money that was taken is still here."""
        return not (self.confirmed or self.waiting or self.owed_minor or self.kept_minor)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-ready."""
        return {"done": self.done, **{one.name: getattr(self, one.name) for one in fields(self)}}


_COUNTED = tuple(one.name for one in fields(Totals) if one.name != "seconds")


def count_orders(api: Api, event: str, shards: int) -> Totals:
    """Count without changing anything."""
    return _walk(api, event, shards, dry_run=True, after_page=lambda _ordered: None)


def pay_all_back(
    api: Api, event: str, shards: int, *, per_s: float, within_s: float, say: Callable[[str], None]
) -> Totals:
    """Order every refund, at most `per_s` a second, and wait until all are carried out; the last walk's totals.

    Holds that end as paid while this runs are paid back in a later round.
    """
    began_s = time.monotonic()
    ordered = 0
    while True:
        walked = _walk(api, event, shards, dry_run=False, after_page=lambda count: time.sleep(count / per_s))
        ordered += walked.ordered
        walked.ordered, walked.seconds = ordered, round(time.monotonic() - began_s, 2)
        if walked.done or walked.seconds > within_s:
            return walked
        say(f"{ordered:,} refunds ordered, {walked.owed_minor:,} minor units on their way, {walked.waiting:,} waiting.")
        time.sleep(ROUND_S)


def _walk(api: Api, event: str, shards: int, *, dry_run: bool, after_page: Callable[[int], None]) -> Totals:
    totals = Totals()
    for shard in range(shards):
        cursor: str | None = None
        while True:
            body: dict[str, Any] = {"shard": shard, "limit": PAGE, "dry_run": dry_run}
            if cursor is not None:
                body["cursor"] = cursor
            call = partial(api.call, "POST", f"/v1/staff/sales/{event}/refund-page", body=body)
            page = patiently(call)[1]
            totals.add(page)
            after_page(page["ordered"])
            cursor = page.get("cursor")
            if cursor is None:
                break
    return totals
