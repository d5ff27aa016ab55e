"""`onsale bench ingest|import|model|seed-case`: the door, its cold start, the partition model, and the wall itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import AsJson


def bench_ingest(
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; in each every side is measured once.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.5, help="How long each side is measured in a round.")] = 4,
    store: Annotated[list[str] | None, typer.Option(help="sqlite or ministack; both when left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Place orders over 64 keep-alive connections, against the same route without a store and the bare store write.

    Examples: onsale bench ingest --json · onsale bench ingest --store sqlite --rounds 3
    """
    from infra.bench.ingest import STORES, run

    figures = run(stores=tuple(store or STORES), rounds=rounds, seconds=seconds, say=say)
    if as_json:
        put_json(figures)
        return
    stores = figures.pop("stores")
    put_facts(figures, title="Orders taken in over HTTP")
    put_table(("", *stores), [(name, *(stores[each][name] for each in stores)) for name in next(iter(stores.values()))])


def bench_import(
    runs: Annotated[int, typer.Option(min=1, max=100, help="Fresh interpreters for each side.")] = 9,
    as_json: AsJson = False,
) -> None:
    """Time the import of the ingest handler against boto3, pydantic and the parts of Powertools it uses.

    Example: onsale bench import --json
    """
    from infra.bench.imports import run

    _put(run(runs=runs, say=say), as_json=as_json)


def bench_model(as_json: AsJson = False) -> None:
    """Run the simulation at full size: 135,000 writes/s for ten minutes, everybody at once, and beyond the quota.

    Example: onsale bench model --json
    """
    from infra.bench.model import run

    figures = run(say=say)
    if as_json:
        put_json(figures)
        return
    runs = figures.pop("runs")
    put_facts(figures, title="The partition model at full size")
    put_table(("", *(str(number + 1) for number in range(len(runs)))), _turned(runs))


def bench_seed_case(
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Size of DynamoDB's limits; 1 is their own.")] = 0.05,
    joins: Annotated[int, typer.Option(min=10, help="Joins in the opening second, before scaling.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Let a crowd in by one key and its counter, and then by our layout, before one and the same wall.

    Example: onsale bench seed-case --json
    """
    from infra.bench.seed_case import run

    figures = run(scale=scale, joins=joins, say=say)
    if as_json:
        put_json(figures)
        return
    sides = {name: figures.pop(name) for name in ("one_key", "our_layout")}
    put_facts(figures, title="The seed case")
    put_table(("", *sides), [(name, *(sides[each][name] for each in sides)) for name in sides["one_key"]])


def _put(figures: dict[str, Any], *, as_json: bool) -> None:
    (put_json if as_json else put_facts)(figures)


def _turned(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Write rows of many members as columns."""
    return [(name, *(row[name] for row in rows)) for name in rows[0]]
