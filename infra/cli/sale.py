"""`onsale sale`: staff's side of a sale, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from infra.cli.exits import BROKEN, EPILOG
from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, STAFF_SCOPES, AsJson, Data, Token, Url, find_api
from infra.usage import Usage

app = typer.Typer(
    help="Define, show, pause, resume, close and cancel sales.\n\n"
    "Examples: onsale sale create gig --seats 1000 · onsale sale list --json",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
    add_completion=False,
)
STAFF = "staff-cli"
Event = Annotated[str, typer.Argument(metavar="EVENT", help="Id of the event.")]
PoolId = Annotated[str, typer.Argument(metavar="POOL", help="Id of the pool.")]


def _call(
    url: str | None, data: Path, token: str | None, method: str, path: str, body: object = None
) -> dict[str, Any]:
    api = find_api(url, data, token, subject=STAFF, scopes=STAFF_SCOPES)
    return api.call(method, f"/v1/staff/sales{path}", body=body)[1]


@app.command(epilog=f"Example: onsale sale create gig --seats 1000 --price 25.00\n\n{EPILOG}")
def create(
    event: Annotated[str | None, typer.Argument(metavar="EVENT", help="Id of the event.")] = None,
    name: Annotated[str | None, typer.Option(help="Its name; the id without one.")] = None,
    seats: Annotated[int, typer.Option(min=1, help="Seats of its one pool.")] = 1000,
    price: Annotated[str, typer.Option(help="Price of a ticket, exact decimal text.")] = "25.00",
    currency: Annotated[str, typer.Option(help="ISO 4217 code.")] = "EUR",
    opens_at: Annotated[str | None, typer.Option(help="RFC 3339 time with offset; now without one.")] = None,
    closes_at: Annotated[str | None, typer.Option(help="RFC 3339 time with offset; a week after opening.")] = None,
    shards: Annotated[int, typer.Option(min=1, help="Shards of the order buffer.")] = 16,
    slices: Annotated[int, typer.Option(min=1, help="Slices of the pool.")] = 1,
    hold_ttl_s: Annotated[int, typer.Option(min=1, help="How long seats are held for payment, in seconds.")] = 600,
    max_per_order: Annotated[int, typer.Option(min=1, help="Most tickets in one order.")] = 10,
    max_per_buyer: Annotated[int | None, typer.Option(min=1, help="Most tickets of one buyer.")] = None,
    accept_per_s: Annotated[
        int | None, typer.Option(min=1, help="Orders a second that the door takes in all; 100,000 without it.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="A whole definition as JSON instead: several pools and ticket types.")
    ] = None,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Define a sale: one pool and one ticket type by options, or a whole definition from --file."""
    if file is not None:
        definition = _read(file)
    elif event is not None:
        from infra.local.sale_definition import one_pool_sale

        definition = one_pool_sale(
            event,
            name=name,
            seats=seats,
            price=price,
            currency=currency,
            opens_at=opens_at,
            closes_at=closes_at,
            shards=shards,
            slices=slices,
            hold_ttl_s=hold_ttl_s,
            max_per_order=max_per_order,
            max_per_buyer=max_per_buyer,
            accept_per_s=accept_per_s,
        )
    else:
        raise Usage("Name the event, or a whole definition with --file.")
    sale = _call(url, data, token, "POST", "", definition)
    say(f"The sale {sale['event_id']} stands; it opens at {sale['opens_at']}.")
    _show(sale, as_json=as_json)


@app.command(epilog=f"Example: onsale sale show gig --json\n\n{EPILOG}")
def show(
    event: Event, url: Url = None, data: Data = DEFAULT_DATA, token: Token = None, as_json: AsJson = False
) -> None:
    """Show a sale with the counts of its seats."""
    _show(_call(url, data, token, "GET", f"/{event}"), as_json=as_json)


@app.command("list", epilog=f"Example: onsale sale list\n\n{EPILOG}")
def list_all(url: Url = None, data: Data = DEFAULT_DATA, token: Token = None, as_json: AsJson = False) -> None:
    """List all sales."""
    sales = _call(url, data, token, "GET", "")["sales"]
    if as_json:
        put_json(sales)
        return
    put_table(
        ("event", "name", "status", "opens", "closes", "seats"),
        [
            (
                sale["event_id"],
                sale["name"],
                sale["status"],
                sale["opens_at"],
                sale["closes_at"],
                sum(pool["capacity"] for pool in sale["pools"]),
            )
            for sale in sales
        ],
    )


@app.command(epilog=f"Example: onsale sale pause gig --all\n\n{EPILOG}")
def pause(
    event: Event,
    everything: Annotated[bool, typer.Option("--all", help="Stop giving out seats as well.")] = False,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Take no more orders for now; payment, expiry and refunds always go on."""
    _show(_call(url, data, token, "POST", f"/{event}/pause", {"all": everything}), as_json=as_json)


@app.command(epilog=f"Example: onsale sale resume gig\n\n{EPILOG}")
def resume(
    event: Event, url: Url = None, data: Data = DEFAULT_DATA, token: Token = None, as_json: AsJson = False
) -> None:
    """Take orders again."""
    _show(_call(url, data, token, "POST", f"/{event}/resume"), as_json=as_json)


@app.command(epilog=f"Example: onsale sale close gig\n\n{EPILOG}")
def close(
    event: Event, url: Url = None, data: Data = DEFAULT_DATA, token: Token = None, as_json: AsJson = False
) -> None:
    """Take no more orders for good; the line is brought to its end."""
    _show(_call(url, data, token, "POST", f"/{event}/close"), as_json=as_json)


@app.command(epilog=f"Example: onsale sale cancel gig --refund-all --per-s 50\n\n{EPILOG}")
def cancel(
    event: Event,
    refund_all: Annotated[bool, typer.Option("--refund-all", help="Pay every order back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    per_s: Annotated[float, typer.Option(min=0.1, help="Refunds ordered per second at most.")] = 20.0,
    within_s: Annotated[float, typer.Option(min=1, help="Wait so long until all are carried out.")] = 600.0,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Call an event off for good, and with --refund-all pay its orders back.

    Counts first and asks. What has been done stands in the orders: stopped at any time, the same command goes on. At
    the end everything is counted again, and compared with the payment service's books where they are at hand; exit
    code 6 when anything is left.
    """
    from infra.refunds.drive import count_orders, pay_all_back
    from infra.refunds.prove import prove_by_books

    api = find_api(url, data, token, subject=STAFF, scopes=STAFF_SCOPES)
    sale = api.call("GET", f"/v1/staff/sales/{event}")[1]
    before = count_orders(api, event, sale["shards_in_all"])
    say(
        f"{before.orders:,} orders, {before.confirmed:,} confirmed and {before.waiting:,} on their way; "
        f"{before.kept_minor:,} minor units of {sale['currency']} are kept."
    )
    if not yes:
        typer.confirm(f"Cancel {event}{' and pay it all back' if refund_all else ''}?", abort=True, err=True)
    sale = api.call("POST", f"/v1/staff/sales/{event}/cancel")[1]
    if not refund_all:
        _show(sale, as_json=as_json)
        return
    result = pay_all_back(api, event, sale["shards_in_all"], per_s=per_s, within_s=within_s, say=say)
    books = prove_by_books(data, event) if url is None else "unchecked"
    told = {"event": event, **result.as_dict(), "books": books}
    (put_json if as_json else put_facts)(told)
    if not result.done or books == "false":
        say("Something is left; the same command goes on, and `onsale reconcile` says what needs a person.")
        raise typer.Exit(BROKEN)


@app.command(epilog=f"Example: onsale sale reshard gig --shards 64\n\n{EPILOG}")
def reshard(
    event: Event,
    shards: Annotated[int, typer.Option(min=1, help="Shards of the order buffer from now on; not fewer than it has.")],
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Grow the shard count, also while the sale runs; twice in its life."""
    _show(_call(url, data, token, "POST", f"/{event}/reshard", {"shards": shards}), as_json=as_json)


@app.command(epilog=f"Example: onsale sale capacity gig floor 1100\n\n{EPILOG}")
def capacity(
    event: Event,
    pool: PoolId,
    seats: Annotated[int, typer.Argument(min=1, help="Seats in all from now on.")],
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a pool more or fewer seats; the line is served before the public, and nobody loses a seat."""
    _show(_call(url, data, token, "POST", f"/{event}/pools/{pool}", {"capacity": seats}), as_json=as_json)


@app.command(epilog=f"Example: onsale sale withhold gig floor 20\n\n{EPILOG}")
def withhold(
    event: Event,
    pool: PoolId,
    seats: Annotated[int, typer.Argument(min=0, help="Seats not to be sold from now on; 0 releases all.")],
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Set seats of a pool aside, or release them again."""
    _show(_call(url, data, token, "POST", f"/{event}/pools/{pool}", {"withheld": seats}), as_json=as_json)


def _read(file: Path) -> object:
    import json

    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Usage(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise Usage(f"{file} is not JSON: {error}.") from None


def _show(sale: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        put_json(sale)
        return
    put_facts({name: value for name, value in sale.items() if not isinstance(value, list | dict)})
    put_table(
        ("pool", "seats", "slices", "unassigned", "unsold", "taken", "withheld"),
        [
            [pool.get(name) for name in ("pool_id", "capacity", "slices", "unassigned", "unsold", "taken", "withheld")]
            for pool in sale["pools"]
        ],
    )
    put_table(
        ("ticket type", "name", "pool", "price"),
        [
            (kind["ticket_type_id"], kind["name"], kind["pool_id"], kind["price"]["text"])
            for kind in sale["ticket_types"]
        ],
    )
