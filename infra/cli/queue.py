"""`onsale queue`: a sale's queue as staff see it, over HTTP; nothing is taken or moved."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from infra.cli.exits import EPILOG
from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data, Token, Url, find_api
from infra.usage import Usage

app = typer.Typer(
    help="Measure a sale's queue, and look at its heads.\n\n"
    "Examples: onsale queue stats gig · onsale queue peek gig --lane parked --json",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
    add_completion=False,
)
STAFF = "staff-cli"
SCOPES = ("staff:read",)
Event = Annotated[str, typer.Argument(metavar="EVENT", help="Id of the event.")]
# Shards shown to a person, the longest first; `--json` has all.
SHOWN_SHARDS = 20
_LANES = ("line", "timer", "fulfil", "parked")


class Lane(StrEnum):
    """What an order waits for: seats, a time or the payment service, a program, a person."""

    LINE = "line"
    TIMER = "timer"
    FULFIL = "fulfil"
    PARKED = "parked"


@app.command(epilog=f"Example: onsale queue stats gig --json\n\n{EPILOG}")
def stats(
    event: Event, url: Url = None, data: Data = DEFAULT_DATA, token: Token = None, as_json: AsJson = False
) -> None:
    """Show depth, oldest age and orders by status, of the sale and of its shards."""
    queue = _get(f"{_path(event)}/queue", url, data, token)
    if as_json:
        put_json(queue)
        return
    rows = [_lane_row(name, queue["lanes"][name]) for name in _LANES]
    put_table(("lane", "orders", "oldest, s"), rows)
    if queue.get("states") is None:
        say("No orders were counted by status; is the stream's pump running?")
    else:
        age_s = queue["states_age_s"]
        put_facts(queue["states"], title=f"Orders by status, as of {queue['states_as_of']} ({age_s:.1f} s ago)")
    shards = [shard for shard in queue["shards"] if "lanes" in shard]
    shards.sort(key=lambda shard: -shard["lanes"]["line"]["depth"])
    put_table(
        ("shard", *_LANES, "oldest in line, s"),
        [_shard_row(shard) for shard in shards[:SHOWN_SHARDS]],
        title=f"The {min(SHOWN_SHARDS, len(shards))} shards with the longest lines, of {len(queue['shards'])}",
    )
    if queue["silent_shards"]:
        say(f"Shards that did not answer: {', '.join(map(str, queue['silent_shards']))}.")


@app.command(epilog=f"Example: onsale queue peek gig --lane line --limit 5\n\n{EPILOG}")
def peek(
    event: Event,
    lane: Annotated[Lane, typer.Option(help="line, timer, fulfil or parked.")] = Lane.LINE,
    shard: Annotated[int | None, typer.Option(min=0, help="One shard; all without it.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many orders.")] = 20,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show the first orders of a lane; they stay where they are."""
    query: dict[str, Any] = {"lane": lane.value, "limit": limit}
    if shard is not None:
        query["shard"] = shard
    found = _get(f"{_path(event)}/queue/peek?{urlencode(query)}", url, data, token)
    if as_json:
        put_json(found)
        return
    put_table(
        ("order", "shard", "since", "age, s", "buyer", "seats"),
        [
            (
                order["order_id"],
                order["shard"],
                order["at"],
                _age(order),
                order["buyer_id"],
                ", ".join(f"{pool}: {quantity}" for pool, quantity in order["seats"].items()),
            )
            for order in found["orders"]
        ],
    )


def _path(event: str) -> str:
    if "/" in event:
        raise Usage("An id has no slash in it.")
    return f"/v1/staff/events/{event}"


def _get(path: str, url: str | None, data: Path, token: str | None) -> dict[str, Any]:
    return find_api(url, data, token, subject=STAFF, scopes=SCOPES).call("GET", path)[1]


def _lane_row(name: str, lane: dict[str, Any]) -> tuple[str, str, str]:
    age_s = lane.get("oldest_age_s")
    return name, _depth(lane), "" if age_s is None else f"{age_s:.1f}"


def _shard_row(shard: dict[str, Any]) -> list[Any]:
    age_s = shard["lanes"]["line"].get("oldest_age_s")
    depths = [_depth(shard["lanes"][name]) for name in _LANES]
    return [shard["shard"], *depths, "" if age_s is None else f"{age_s:.1f}"]


def _depth(lane: dict[str, Any]) -> str:
    return f"{lane['depth']:,}{' or more' * lane['at_least']}"


def _age(order: dict[str, Any]) -> str:
    return f"{order['age_s']:.1f}" if "age_s" in order else "not yet"
