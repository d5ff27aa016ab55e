"""`onsale order trace`: an order's whole life, a row per step."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from infra.cli.api import Api
from infra.cli.talk import put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, STAFF_SCOPES, AsJson, Data, Token, Url, find_api
from infra.usage import Usage


def trace(
    order: Annotated[str, typer.Argument(metavar="ORDER", help="Id of the order.")],
    event: Annotated[
        str | None, typer.Option(help="Id of its event; without it every sale is asked for the order.")
    ] = None,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show an order's whole life, as staff: a row per step with its time, and what is still due."""
    if "/" in order or "/" in (event or ""):
        raise Usage("An id has no slash in it.")
    api = find_api(url, data, token, subject="staff-cli", scopes=STAFF_SCOPES)
    told = _find(api, order, event)
    if as_json:
        put_json(told)
        return
    parked = ", parked" if told["parked"] else ""
    say(f"{told['order_id']} of {told['event_id']}, shard {told['shard']}: {told['status']}{parked}, rev {told['rev']}")
    if told.get("correlation_id"):
        say(f"Came by the request {told['correlation_id']} (correlation id in the logs).")
    put_table(("At", "After", "Step", "Times", "What"), [_row(row) for row in told["rows"]])
    if told["ahead"]:
        put_table(("At", "Duty", "What"), [list(one.values()) for one in told["ahead"]], title="Still due")


def _find(api: Api, order: str, event: str | None) -> dict[str, Any]:
    from shared.domain.errors import NotFound

    events = [event] if event else [sale["event_id"] for sale in api.call("GET", "/v1/staff/sales")[1]["sales"]]
    for event_id in events:
        try:
            return api.call("GET", f"/v1/staff/events/{event_id}/orders/{order}/trace")[1]
        except NotFound:
            continue
    raise NotFound(f"No order {order} in {', '.join(events) or 'any sale, for there is none'}.")


def _row(row: dict[str, Any]) -> tuple[str, str, str, str, str]:
    times = f"{row['times']}× to {row['last_at']}" if row["times"] > 1 else ""
    note = f" ({row['note']})" if row.get("note") else ""
    return row["at"], f"+{row['after_s']:.3f} s", row["step"], times, row["sentence"] + note
