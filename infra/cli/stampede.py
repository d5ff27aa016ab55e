"""`onsale stampede`: a crowd of buyers against any address."""

from __future__ import annotations

import secrets
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.exits import BROKEN
from infra.cli.talk import console, put_facts, put_json, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data, Url, find_url

if TYPE_CHECKING:
    from infra.load.stampede import Stampede


class How(StrEnum):
    """How the crowd arrives."""

    ONCE = "at-once"
    RAMP = "ramp"


def stampede(
    event: Annotated[str, typer.Option(help="Id of the event.")],
    buyers: Annotated[int, typer.Option(min=1, help="How many buyers.")] = 1000,
    at_once: Annotated[bool, typer.Option("--at-once", help="All press within 1.5 seconds (the default).")] = False,
    ramp: Annotated[bool, typer.Option("--ramp", help="They press evenly over --seconds.")] = False,
    seconds: Annotated[float, typer.Option(min=0, help="Length of the ramp.")] = 30.0,
    within_s: Annotated[float, typer.Option(min=1, help="Send the rest home after so long.")] = 120.0,
    party_max: Annotated[int, typer.Option(min=1, max=50, help="Largest party.")] = 4,
    calm: Annotated[bool, typer.Option("--calm", help="No declines, nobody vanishes or cancels.")] = False,
    rude: Annotated[bool, typer.Option("--rude", help="Hammer as bots do, whatever the answers say.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, max=64, help="Generator processes.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the crowd repeatable; drawn without it.")] = None,
    receipts: Annotated[Path, typer.Option(help="File for the receipts.")] = Path("receipts.jsonl"),
    tokens: Annotated[Path | None, typer.Option(help="Bearer tokens, one a line, instead of minted ones.")] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="First measure what the generator itself can do.")
    ] = True,
    url: Url = None,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Send buyers from several processes who behave as clients should, and keep their receipts.

    They follow Retry-After with jitter, repeat under the same Idempotency-Key, and look again when told to; a bare 429
    or 503 means one to three seconds. What the generator itself can do is measured against a server that does nothing,
    so that a slow generator is not taken for a slow server.

    Examples: onsale stampede --event demo --buyers 2000 · onsale stampede --event demo --ramp --seconds 60 --rude
    """
    from infra.load.buyers import AT_ONCE_S, Mix
    from infra.load.capacity import measure_capacity
    from infra.load.job import Job
    from infra.load.stampede import Stampede, processes_for
    from infra.load.summary import summarise
    from infra.local.data_folder import DataFolder

    if at_once and ramp:
        raise typer.BadParameter("choose one of --at-once and --ramp")
    address = find_url(url, data)
    running = DataFolder(data).running() if url is None else None
    count = processes or processes_for(buyers)
    capacity_per_s = measure_capacity(count) if measure else None
    seed = secrets.randbelow(2**32) if seed is None else seed
    job = Job(
        url=address,
        event_id=event,
        seed=seed,
        first=0,
        count=buyers,
        spread_s=seconds if ramp else AT_ONCE_S,
        within_s=within_s,
        mix=Mix.calm(party_max) if calm else Mix(party_max=party_max),
        receipts=str(receipts),
        rude=rude,
        token_dir=str(data),
        tokens_file=None if tokens is None else str(tokens),
        payment_url=None if running is None else running.payment_url,
        publishable_key=None if running is None else running.publishable_key,
    )
    crowd = Stampede(job, processes=count)
    crowd.prepare()
    say(
        f"{buyers} buyers from {count} process{'es' if count > 1 else ''}, seed {seed}. Each stays until its order has "
        f"come to an end, {within_s:g} s at most."
    )
    crowd.go()
    try:
        _watch(crowd, buyers)
    except KeyboardInterrupt:
        say("The buyers go home; their receipts are kept.")
        crowd.stop()
        crowd.finish()
    report = {"seed": seed, "generator_per_s": capacity_per_s, **summarise(receipts).as_dict()}
    if as_json:
        put_json(report)
    else:
        put_facts(report)
    say(f"Receipts: {receipts}. Check them with: onsale verify {event} --receipts {receipts}")
    if report["server_errors"]:
        raise typer.Exit(BROKEN)


def _watch(crowd: Stampede, buyers: int) -> None:
    """Draw how many know whether their order was taken, until all have gone home."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task("Buyers answered", total=buyers)

        def draw() -> None:
            answered = crowd.progress().answered
            known = "All are answered; some wait for seats and payment"
            bar.update(task, completed=answered, description=known if answered >= buyers else "Buyers answered")

        crowd.finish(wait=draw)
