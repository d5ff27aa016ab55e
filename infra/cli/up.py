"""`onsale up`: the whole system on one machine, until Ctrl-C."""

from __future__ import annotations

import signal
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.talk import put_json, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data
from infra.usage import Usage

if TYPE_CHECKING:
    from infra.local.system import System

DEMO_EVENT = "demo"
RECONCILE_EVERY_S = 60.0
LOOK_EVERY_S = 0.2


class StoreName(StrEnum):
    """Which store."""

    SQLITE = "sqlite"
    DYNAMODB = "dynamodb"


Workers = Annotated[
    int, typer.Option(min=0, max=64, help="Worker processes; 0: those that you start, by `onsale work`.")
]
Store = Annotated[StoreName, typer.Option(help="sqlite, or dynamodb on this machine (ministack).")]

PartitionLimits = Annotated[
    bool, typer.Option("--partition-limits", help="Throttle as DynamoDB does; goes with --store dynamodb.")
]
Scale = Annotated[float, typer.Option(min=0.001, max=1, help="Size of those limits; 1 is DynamoDB's own.")]


def limits_of(store: StoreName, scale: float, *, wanted: bool) -> float | None:
    """Return the size of the partition limits, None without any; Usage where there is nothing to limit."""
    if wanted and store is not StoreName.DYNAMODB:
        raise Usage("--partition-limits are DynamoDB's: add --store dynamodb.")
    return scale if wanted else None


def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the API; 0 takes a free one.")] = 8000,
    payment_port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the payment service.")] = 0,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    workers: Workers = 2,
    store: Store = StoreName.SQLITE,
    partition_limits: PartitionLimits = False,
    scale: Scale = 1.0,
    data: Data = DEFAULT_DATA,
    with_demo_sale: Annotated[
        bool, typer.Option("--with-demo-sale/--without-demo-sale", help="Open a sale when there is none.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Start API, workers, payment service and change pump; supervise them until Ctrl-C.

    Prints the addresses and a curl that buys a ticket. A part that falls is started again.

    Examples: onsale up · onsale up --port 0 --data /tmp/shop --store dynamodb
    """
    from infra.local.system import Plan, System

    limits = limits_of(store, scale, wanted=partition_limits)
    plan = Plan(
        data,
        str(store),
        workers,
        host,
        port,
        payment_port,
        reconcile_every_s=RECONCILE_EVERY_S,
        partition_limits=limits,
    )
    stopping: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: stopping.append(got))
    with System(plan, say) as system:
        _introduce(system, with_demo_sale=with_demo_sale, as_json=as_json)
        while not stopping:
            time.sleep(LOOK_EVERY_S)
            system.supervise()
        say("Stopping.")


def _introduce(system: System, *, with_demo_sale: bool, as_json: bool) -> None:
    from infra.cli.api import Api
    from infra.cli.where import BUYER_SCOPES, STAFF_SCOPES
    from infra.local.curl import buying_curl
    from infra.local.minting import mint
    from infra.local.sale_definition import one_pool_sale

    running, data = system.running, system.plan.data
    if running is None:
        return
    api = Api(running.url, mint(data, "staff-up", STAFF_SCOPES))
    sales = api.call("GET", "/v1/staff/sales")[1]["sales"]
    if not sales and with_demo_sale:
        definition = one_pool_sale(DEMO_EVENT, name="The Demo", seats=1000)
        sales = [api.call("POST", "/v1/staff/sales", body=definition)[1]]
    curl = None
    console = f"{running.url}/console#token={mint(data, 'staff-up', STAFF_SCOPES)}"
    page = None
    if sales:
        page = f"{running.url}/e/{sales[0]['event_id']}#token={mint(data, 'alice', BUYER_SCOPES)}"
        curl = buying_curl(running.url, sales[0]["event_id"], sales[0]["ticket_types"][0]["ticket_type_id"], data)
    say(f"API               {running.url}  (routes: {running.url}/docs)")
    say(f"Payment service   {running.payment_url}")
    say(f"Data and logs     {data.resolve()}")
    say(f"Processes         {', '.join(f'{child.name} {child.pid}' for child in system.children)}")
    say(f"\nConsole, where you may act:\n\n{console}")
    if curl is not None:
        say(f"\nThe buyer's page, as alice:\n\n{page}\n\nBuy a ticket without it:\n\n{curl}\n")
    say("Ctrl-C stops everything.")
    if as_json:
        put_json(
            {
                "url": running.url,
                "payment_url": running.payment_url,
                "data": str(data.resolve()),
                "store": running.store,
                "pids": {child.name: child.pid for child in system.children},
                "sales": [sale["event_id"] for sale in sales],
                "curl": curl,
                "console": console,
                "page": page,
            }
        )
        _flush()


def _flush() -> None:
    import sys

    sys.stdout.flush()
