"""`onsale throttles`: how often the store refused, where, why, and what would have avoided it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from infra.cli.talk import put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, STAFF_SCOPES, AsJson, Data, Token, Url, find_api


def throttles(
    top: Annotated[int, typer.Option(min=1, max=100, help="How many keys.")] = 10,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show the throttle rate of all processes since they started: throttled attempts over attempts, by every reason.

    Examples: onsale throttles · onsale throttles --json
    """
    api = find_api(url, data, token, subject="staff-cli", scopes=STAFF_SCOPES)
    told = api.call("GET", "/v1/staff/throttles")[1]
    if as_json:
        put_json(told)
        return
    total = told["total"]
    say(
        f"{total['throttled']:,} of {total['attempts']:,} attempts were throttled ({total['throttle_rate']:.4%}); "
        f"{len(told['processes'])} processes, the oldest figures {told['age_s']:.1f} s old."
    )
    put_table(
        ("Table", "Index", "Operation", "Attempts", "Throttled", "Rate", "Failed otherwise"),
        [(one["table"], one["index"], one["operation"], *_rates(one)) for one in told["operations"]],
    )
    put_table(
        ("Key", "Operation", "Attempts", "Throttled", "Rate", "Failed otherwise"),
        [(one["key"], one["operation"], *_rates(one)) for one in told["keys"][:top]],
        title="Keys",
    )
    put_table(
        ("Call", "Calls", "First attempt, mean", "p99", "Repeated", "After it, mean", "p99"),
        [_call(one) for one in told["calls"]],
        title="Where the time goes",
    )
    for one in told["throttles"]:
        say(f"{one['count']:,}× {one['reason'] or 'no reason given'}: {one['sentence']}")


def _rates(one: dict[str, Any]) -> tuple[str, str, str, str]:
    return f"{one['attempts']:,}", f"{one['throttled']:,}", f"{one['throttle_rate']:.2%}", f"{one['failed']:,}"


def _call(one: dict[str, Any]) -> tuple[str, ...]:
    def ms(name: str) -> str:
        return f"{1000 * one[name]:.1f} ms" if one.get(name) is not None else ""

    return (
        one["call"],
        f"{one['calls']:,}",
        ms("first_attempt_mean_s"),
        ms("first_attempt_p99_s"),
        f"{one['repeated']:,}",
        ms("retrying_mean_s"),
        ms("retrying_p99_s"),
    )
