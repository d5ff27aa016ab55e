"""`onsale parked`: orders that were set aside for a person (dead letters), over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from infra.cli.exits import EPILOG
from infra.cli.talk import console, put_facts, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, STAFF_SCOPES, AsJson, Data, Token, Url, find_api
from infra.usage import Usage

app = typer.Typer(
    help="List, show and redrive parked orders.\n\n"
    'Examples: onsale parked list --event gig · onsale parked redrive --error "timed out" --dry-run',
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
    add_completion=False,
)
STAFF = "staff-cli"
PAGE = 100
Event = Annotated[str | None, typer.Option("--event", help="Only this event's.")]
Error = Annotated[str | None, typer.Option("--error", help="Only where this is part of the error's text.")]
Duty = Annotated[str | None, typer.Option("--duty", help="Only where this was due: pay, check, refund, line, …")]
OlderThan = Annotated[int | None, typer.Option("--older-than", min=0, help="Only parked at least so many seconds ago.")]
NewerThan = Annotated[int | None, typer.Option("--newer-than", min=0, help="Only parked at most so many seconds ago.")]
OrderId = Annotated[str, typer.Argument(metavar="ORDER", help="Id of the order.")]


@app.command("list", epilog=f"Example: onsale parked list --event gig --duty pay --json\n\n{EPILOG}")
def list_all(
    event: Event = None,
    error: Error = None,
    duty: Duty = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    limit: Annotated[int, typer.Option(min=1, help="How many orders at most.")] = 100,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List parked orders by event, shard and time of parking."""
    api = find_api(url, data, token, subject=STAFF, scopes=STAFF_SCOPES)
    query = _filter(event, error, duty, older_than, newer_than)
    orders: list[dict[str, Any]] = []
    unreadable: list[str] = []

    def ask(cursor: dict[str, str]) -> dict[str, Any]:
        more = {**query, **cursor, "limit": min(PAGE, limit - len(orders))}
        return api.call("GET", f"/v1/staff/parked?{urlencode(more)}")[1]

    for page in _pages(ask):
        orders += page["orders"]
        unreadable += page["unreadable"]
        if len(orders) >= limit:
            break
    if as_json:
        put_json({"orders": orders, "unreadable": unreadable})
        return
    put_table(
        ("event", "order", "status", "parked at", "duty", "error"),
        [
            (
                order["event_id"],
                order["order_id"],
                order["status"],
                order["parked"]["at"],
                order["parked"]["duty"],
                order["parked"]["error"],
            )
            for order in orders
        ],
    )
    for name in unreadable:
        say(f"{name} cannot be read.")


@app.command(epilog=f"Example: onsale parked show 1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d\n\n{EPILOG}")
def show(
    order: OrderId,
    event: Event = None,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a parked order with its error, history, seats, money and duties."""
    if "/" in order:
        raise Usage("An id has no slash in it.")
    query = f"?{urlencode({'event_id': event})}" if event else ""
    api = find_api(url, data, token, subject=STAFF, scopes=STAFF_SCOPES)
    shown = api.call("GET", f"/v1/staff/parked/{order}{query}")[1]
    if as_json:
        put_json(shown)
        return
    put_facts({name: value for name, value in shown.items() if isinstance(value, str | int)})
    put_facts(shown["parked"], title="Parked")
    payment = {name: value["text"] if isinstance(value, dict) else value for name, value in shown["payment"].items()}
    put_facts(payment, title="Payment")
    put_facts(shown["duties"], title="Duties")
    put_table(
        ("at", "what", "duty", "note"),
        [(entry["at"], entry["kind"], entry["duty"], entry["note"]) for entry in shown["history"]],
        title="History",
    )


@app.command(epilog=f"Example: onsale parked redrive --event gig --dry-run\n\n{EPILOG}")
def redrive(
    order: Annotated[str | None, typer.Argument(metavar="ORDER", help="One order; all that fit without it.")] = None,
    event: Event = None,
    error: Error = None,
    duty: Duty = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count and change nothing.")] = False,
    per_second: Annotated[float, typer.Option(min=0.1, help="Orders taken up per second at most.")] = 50,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Have parked orders taken up again, with fresh attempts; counts first, then goes at the given pace."""
    api = find_api(url, data, token, subject=STAFF, scopes=STAFF_SCOPES)
    wanted = _filter(event, error, duty, older_than, newer_than)

    def send(body: dict[str, Any]) -> dict[str, Any]:
        return api.call("POST", "/v1/staff/parked/redrive", body={"filter": wanted, **body})[1]

    if order is not None:
        done = send({"order_id": order, "dry_run": dry_run})
        _tell(done["matched"], done["redriven"], dry_run=dry_run, as_json=as_json)
        return
    matched = 0
    for page in _pages(lambda cursor: send({"dry_run": True, "limit": PAGE, **cursor})):
        matched += page["matched"]
    say(f"{matched:,} parked orders fit.")
    redriven = 0 if dry_run else _go(send, matched, per_second)
    _tell(matched, redriven, dry_run=dry_run, as_json=as_json)


def _go(send: Callable[[dict[str, Any]], dict[str, Any]], matched: int, per_second: float) -> int:
    """Redrive page by page; a page is about a second's worth, and the next one waits until its time has come."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    redriven = 0
    limit = max(1, min(PAGE, int(per_second)))
    columns = (TextColumn("redrive"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task("redrive", total=matched)
        began_s = time.monotonic()
        for page in _pages(lambda cursor: send({"limit": limit, **cursor})):
            redriven += page["redriven"]
            bar.advance(task, page["redriven"])
            time.sleep(max(0.0, began_s + redriven / per_second - time.monotonic()))
    return redriven


def _tell(matched: int, redriven: int, *, dry_run: bool, as_json: bool) -> None:
    figures = {"matched": matched, "redriven": redriven, "dry_run": dry_run}
    (put_json if as_json else put_facts)(figures)


def _pages(ask: Callable[[dict[str, str]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Follow a cursor to its end."""
    cursor: dict[str, str] = {}
    while True:
        page = ask(cursor)
        yield page
        if "cursor" not in page:
            return
        cursor = {"cursor": page["cursor"]}


def _filter(
    event: str | None, error: str | None, duty: str | None, older_than: int | None, newer_than: int | None
) -> dict[str, Any]:
    wanted = {
        "event_id": event,
        "error": error,
        "duty": duty,
        "min_age_s": older_than,
        "max_age_s": newer_than,
    }
    return {name: value for name, value in wanted.items() if value is not None}
