"""`onsale order`: a buyer's side, and the refund that staff order, over HTTP."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.exits import EPILOG
from infra.cli.talk import put_facts, put_json, say
from infra.cli.trace import trace
from infra.cli.where import BUYER_SCOPES, DEFAULT_DATA, STAFF_SCOPES, AsJson, Data, Token, Url, find_api
from infra.usage import Usage

if TYPE_CHECKING:
    from infra.cli.api import Api

app = typer.Typer(
    help="Place, show, cancel and refund orders.\n\n"
    "Examples: onsale order place demo --wait · onsale order show demo ORDER --json",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
    add_completion=False,
)
app.command(epilog=f"Example: onsale order trace 1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d --json\n\n{EPILOG}")(trace)
Event = Annotated[str, typer.Argument(metavar="EVENT", help="Id of the event.")]
OrderId = Annotated[str, typer.Argument(metavar="ORDER", help="Id of the order.")]
Buyer = Annotated[str, typer.Option("--buyer", help="Who buys: the subject of the token that is minted.")]
_END = {"confirmed", "rejected", "expired", "cancelled", "refunded", "superseded"}


@app.command(epilog=f"Example: onsale order place demo --quantity 2 --wait\n\n{EPILOG}")
def place(
    event: Event,
    ticket_type: Annotated[
        str | None, typer.Option("--type", help="Ticket type; the sale's first one without it.")
    ] = None,
    quantity: Annotated[int, typer.Option(min=1, help="How many tickets.")] = 1,
    method: Annotated[
        str | None, typer.Option("--payment-method", help="Card to charge, by the payment service's name.")
    ] = "pm_card_visa",
    by_hand: Annotated[bool, typer.Option("--hand-off", help="Name no card: pay later with a client secret.")] = False,
    holder: Annotated[str | None, typer.Option(help="Name on the tickets.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key; a random one without it.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow the order to its end, or to where its buyer has to act.")
    ] = False,
    buyer: Buyer = "buyer",
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Place an order; the answer comes at once, seats and payment follow."""
    import uuid

    from shared.domain.errors import Unavailable

    api = find_api(url, data, token, subject=buyer, scopes=BUYER_SCOPES)
    kind = ticket_type or api.call("GET", f"/v1/events/{event}")[1]["ticket_types"][0]["ticket_type_id"]
    body: dict[str, Any] = {"lines": [{"ticket_type_id": kind, "quantity": quantity}]}
    if method is not None and not by_hand:
        body["payment_method"] = method
    if holder is not None:
        body["holder"] = holder
    key = key or str(uuid.uuid4())
    headers = {"Idempotency-Key": f'"{key}"'}
    try:
        order = api.call("POST", f"/v1/events/{event}/orders", body=body, headers=headers)[1]
    except Unavailable as error:
        raise Unavailable(f"{error.message} Repeat it with --key {key}.") from None
    say(f"Accepted under the key {key}.")
    if wait:
        order = _follow(api, event, order, by_hand=by_hand)
    _show(order, as_json=as_json)


@app.command(epilog=f"Example: onsale order show demo 1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d --json\n\n{EPILOG}")
def show(
    event: Event,
    order: OrderId,
    buyer: Buyer = "buyer",
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show an order as its buyer sees it."""
    _show(_call("GET", event, order, buyer, url, data, token), as_json=as_json)


@app.command(epilog=f"Example: onsale order cancel demo 1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d\n\n{EPILOG}")
def cancel(
    event: Event,
    order: OrderId,
    buyer: Buyer = "buyer",
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Cancel an order: at once while it is in line; once seats are held a worker closes the payment first."""
    _show(_call("DELETE", event, order, buyer, url, data, token), as_json=as_json)


@app.command(epilog=f"Example: onsale order refund demo 1-5f1d7a6f0b6c4f0e9c1d2e3f4a5b6c7d --total 5.00\n\n{EPILOG}")
def refund(
    event: Event,
    order: OrderId,
    total: Annotated[
        str | None,
        typer.Option(help="What the buyer gets back in all, exact decimal text; everything and the seats without it."),
    ] = None,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Do not sell the seats again; with a whole refund.")
    ] = False,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Pay an order back, as staff: whole, or a part whose buyer keeps the tickets. Repeating it changes nothing."""
    from shared.domain.money import money_from_decimal

    _check_ids(event, order)
    api = find_api(url, data, token, subject="staff-cli", scopes=STAFF_SCOPES)
    body: dict[str, Any] = {"seats": "withhold"} if withhold else {}
    if total is not None:
        currency = api.call("GET", f"/v1/events/{event}/orders/{order}")[1]["amount"]["currency"]
        body["total_minor"] = money_from_decimal(total, currency).minor
    told = api.call("POST", f"/v1/staff/sales/{event}/orders/{order}/refunds", body=body)[1]
    if as_json:
        put_json(told)
        return
    amounts = {name: told[name]["text"] for name in ("captured", "refund_due", "refunded")}
    put_facts({name: told.get(name) for name in ("order_id", "status", "reason")} | amounts)


def _call(
    method: str, event: str, order: str, buyer: str, url: str | None, data: Path, token: str | None
) -> dict[str, Any]:
    _check_ids(event, order)
    api = find_api(url, data, token, subject=buyer, scopes=BUYER_SCOPES)
    return api.call(method, f"/v1/events/{event}/orders/{order}")[1]


def _follow(api: Api, event: str, order: dict[str, Any], *, by_hand: bool) -> dict[str, Any]:
    """Read an order again and again until it ends or waits for its buyer; say each thing it says once."""
    said = ""
    while True:
        if order["sentence"] != said:
            said = order["sentence"]
            say(said)
        # After a declined card, and where no card was named, nothing moves before somebody pays.
        if order["status"] in _END or "decline_code" in order or (by_hand and "payment" in order):
            return order
        time.sleep(order.get("poll_after_s") or 1)
        order = api.call("GET", f"/v1/events/{event}/orders/{order['order_id']}")[1]


def _check_ids(event: str, order: str) -> None:
    if "/" in order or "/" in event:
        raise Usage("An id has no slash in it.")


def _show(order: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        put_json(order)
        return
    facts: dict[str, Any] = {name: value for name, value in order.items() if isinstance(value, str | int | float)}
    for name in ("amount", "refund_due", "refunded"):
        facts[name] = (order.get(name) or {}).get("text")
    facts["tickets"] = " ".join(order.get("tickets") or []) or None
    facts["client_secret"] = (order.get("payment") or {}).get("client_secret")
    put_facts(facts)
