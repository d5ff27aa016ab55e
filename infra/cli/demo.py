"""`onsale demo`: a whole sale in one command."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from infra.cli.exits import BROKEN
from infra.cli.talk import console, put_facts, put_json, put_table, say
from infra.cli.up import PartitionLimits, Scale, Store, StoreName, Workers, limits_of
from infra.cli.where import AsJson

DEMO_DATA = Path(".onsale/demo")


def demo(
    buyers: Annotated[int, typer.Option(min=1, max=100_000, help="How many buyers press.")] = 2000,
    seats: Annotated[int | None, typer.Option(min=1, help="Seats on sale; two for five buyers without it.")] = None,
    shards: Annotated[int, typer.Option(min=1, max=256, help="Shards of the order buffer.")] = 8,
    slices: Annotated[int, typer.Option(min=1, max=64, help="Slices of the pool, at most seats / 500.")] = 1,
    workers: Workers = 2,
    party_max: Annotated[int, typer.Option(min=1, max=50, help="Largest party; 1 means single seats only.")] = 4,
    calm: Annotated[bool, typer.Option("--calm", help="No declines, nobody vanishes or cancels.")] = False,
    store: Store = StoreName.SQLITE,
    partition_limits: PartitionLimits = False,
    scale: Scale = 1.0,
    seed: Annotated[int | None, typer.Option(help="Makes the crowd repeatable; drawn without it.")] = None,
    kill_workers: Annotated[
        bool, typer.Option("--kill-workers", help="SIGKILL workers, again and again, while the sale runs.")
    ] = False,
    payment_chaos: Annotated[
        bool,
        typer.Option(
            "--payment-chaos",
            help="Kill the payment service for 20 s in the middle; lose, double and delay its webhooks.",
        ),
    ] = False,
    hold_ttl_s: Annotated[int | None, typer.Option(min=1, help="How long seats are held, in seconds.")] = None,
    data: Annotated[
        Path, typer.Option(help="Folder of the run, emptied first; it stays for `onsale verify`.")
    ] = DEMO_DATA,
    as_json: AsJson = False,
) -> None:
    """Open a sale, send a stampede at it over HTTP, drain, close, verify, report.

    Buyers come from separate processes: some send twice, some cards are declined, some pay by hand, some vanish or
    cancel, parties are of different size. Every figure is counted from receipts, stored orders, inventory and the
    payment service's books; before that the reconciler walks until orders and payments agree. Exit code 6 when an
    invariant is false or a payment stays open.

    Examples: onsale demo · onsale demo --buyers 5000 --seats 1000 --kill-workers --json · onsale demo --payment-chaos
    """
    from infra.demo.options import DemoOptions
    from infra.demo.report import demo_report, is_broken
    from infra.demo.run import run_demo
    from infra.local.data_folder import empty_folder

    options = DemoOptions(
        data=data,
        buyers=buyers,
        seats=seats,
        shards=shards,
        slices=slices,
        workers=workers,
        party_max=party_max,
        calm=calm,
        store=str(store),
        partition_limits=limits_of(store, scale, wanted=partition_limits),
        seed=secrets.randbelow(2**32) if seed is None else seed,
        kill_workers=kill_workers,
        payment_chaos=payment_chaos,
        hold_ttl_s=hold_ttl_s,
    )
    empty_folder(data)
    course, evidence = run_demo(options, console())
    report = demo_report(course, evidence)
    if as_json:
        put_json(report)
    else:
        _put(report)
    say(f"Seed {options.seed}. Kept in {data}: receipts.jsonl, the store, the books, the logs.")
    if is_broken(course, evidence):
        raise typer.Exit(BROKEN)


_TABLES = {
    "What became of the orders": (
        "accepted", "refused", "gave_up", "confirmed", "rejected", "expired", "cancelled", "refunded", "queued", "held",
        "counted_by_stream",
    ),
    "What must be 0": (
        "oversold", "lost", "duplicate_orders", "double_charged", "unpaid_confirmed", "waiting_that_fit",
        "server_errors", "bare_503",
    ),
    "Seats, pace and fairness": (
        "capacity", "sold", "accepted_per_s", "accept_ms_p50", "accept_ms_p99", "drained_per_s", "drained_peak_per_s",
        "overtaken", "retried", "repeated", "workers_killed", "restarts",
    ),
}  # fmt: skip


def _put(report: dict[str, Any]) -> None:
    for title, names in _TABLES.items():
        put_facts({name: report[name] for name in names}, title=title)
    rows = [(name, truth, report["because"][name]) for name, truth in report["invariants"].items()]
    put_table(("", "", ""), rows, title="What must always hold")
    walks = {name: value for name, value in report["reconciliation"].items() if isinstance(value, int)}
    put_facts(walks, title="Orders against payments")
    put_facts(report["seconds"], title="Seconds by phase")
