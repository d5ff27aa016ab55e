"""`onsale bench drain`: how fast a backlog is worked off."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from infra.cli.talk import put_json, put_table, say
from infra.cli.where import AsJson


class StoreKind(StrEnum):
    """Over which store: SQLite, or DynamoDB in an emulator."""

    SQLITE = "sqlite"
    DYNAMODB = "dynamodb"


def bench_drain(
    store: Annotated[list[StoreKind] | None, typer.Option(help="Only this store; may be repeated.")] = None,
    workers: Annotated[list[int] | None, typer.Option(min=1, max=16, help="Workers; may be repeated.")] = None,
    shards: Annotated[list[int] | None, typer.Option(min=1, max=1024, help="Shards; may be repeated.")] = None,
    orders: Annotated[int, typer.Option(min=50, help="Orders of each run on SQLite.")] = 6_000,
    emulated_orders: Annotated[int, typer.Option(min=50, help="Orders of each run on the emulator.")] = 500,
    as_json: AsJson = False,
) -> None:
    """Give a stored backlog its seats, and confirm it, with 1, 2 and 4 workers on 8 to 256 shards.

    Payment answers at once within the worker. Ends with code 6 when one worker gives fewer than 3,000 orders a second
    their seats on SQLite.

    Examples: onsale bench drain --json · onsale bench drain --store sqlite --workers 1 --shards 64
    """
    from infra.bench.drain import Case, run
    from shared.domain.errors import Broken

    cases = [
        Case(kind.value, count, width, orders if kind is StoreKind.SQLITE else emulated_orders, confirm)
        for kind in store or list(StoreKind)
        for width in shards or [8, 64, 256]
        for count in workers or [1, 2, 4]
        for confirm in (False, True)
    ]
    figures = run(cases, say)
    if as_json:
        put_json(figures)
    else:
        put_table(
            ("store", "what", "workers", "shards", "orders/s", "CPU ms an order"),
            [
                (
                    one["store"],
                    one["what"],
                    one["workers"],
                    one["shards"],
                    f"{one['orders_per_s']:,.0f}",
                    f"{one['cpu_ms_per_order']:.3f}",
                )
                for one in figures["runs"]
            ],
        )
    if not figures["kept"]:
        raise Broken(
            f"Seats were given out at fewer than {figures['target_per_s']:,} orders/s by one worker on SQLite."
        )
