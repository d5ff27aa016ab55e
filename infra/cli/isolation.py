"""`onsale bench isolation`: what buyers notice at the door when the payment service is dead or slow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infra.bench.trouble import Trouble
from infra.cli.exits import BROKEN
from infra.cli.talk import put_facts, put_json, say
from infra.cli.up import Store, StoreName, Workers
from infra.cli.where import AsJson


def bench_isolation(
    pairs: Annotated[int, typer.Option(min=1, help="Healthy and troubled runs, one after the other.")] = 5,
    orders: Annotated[int, typer.Option(min=20, help="Orders in each run.")] = 600,
    per_s: Annotated[float, typer.Option(min=1, help="Orders per second in each run.")] = 60.0,
    trouble: Annotated[Trouble, typer.Option(help="What is wrong: killed, or every answer 5 s late.")] = Trouble.DEAD,
    workers: Workers = 2,
    store: Store = StoreName.SQLITE,
    data: Annotated[Path, typer.Option(help="Folder of the run, emptied first.")] = Path(".onsale/bench-isolation"),
    as_json: AsJson = False,
) -> None:
    """Compare the p99 of accepting an order with a healthy and with a dead payment service.

    Workers run beside the door all the time. Pairs are interleaved, and which of the two comes first alternates. The
    promise: the median ratio is at most 1.2, or the median difference within 3 ms. Exit code 6 when it is broken.

    Examples: onsale bench isolation --json · onsale bench isolation --trouble slow --pairs 3
    """
    from infra.bench.isolation import Bench, run
    from infra.local.data_folder import empty_folder

    empty_folder(data)
    result = run(Bench(data, pairs, orders, per_s, trouble, workers, str(store)), say)
    (put_json if as_json else put_facts)(result.as_dict())
    if not result.kept:
        raise typer.Exit(BROKEN)
