"""`onsale bench cost`: capacity units an order, step by step."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import AsJson


def bench_cost(
    orders: Annotated[int, typer.Option(min=49, help="Orders of each kind.")] = 980,
    idle_seconds: Annotated[float, typer.Option(min=1, help="How long idle shards are watched, in seconds.")] = 45,
    as_json: AsJson = False,
) -> None:
    """Count the capacity units of sold and rejected orders and of idle shards on an emulator that counts them.

    Ends with code 6 when a promise is not kept.

    Example: onsale bench cost --json
    """
    from infra.bench.cost import run
    from shared.domain.errors import Broken

    figures = run(orders=orders, idle_s=idle_seconds, say=say)
    if as_json:
        put_json(figures)
    else:
        _show(figures)
    if not figures["kept"]:
        raise Broken("A promise about cost is not kept; compare the figures with their targets.")


def _show(figures: dict[str, Any]) -> None:
    put_table(
        ("step", "table", "index", "of it failed", "read units", "calls"),
        [
            (
                name,
                *(f"{step[part]:,.1f}" for part in ("table_write_units", "index_write_units")),
                *(f"{step[part]:,.1f}" for part in ("failed_condition_units", "read_units")),
                step["calls"],
            )
            for name, step in figures["steps"].items()
        ],
        title="Capacity units by step",
    )
    put_facts({f"{name} (at most {most})": figures[name] for name, most in figures["targets"].items()})
