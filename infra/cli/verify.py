"""`onsale verify`: every invariant, answered true, false or unchecked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import typer

from infra.cli.exits import BROKEN
from infra.cli.talk import console, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data


def verify(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="Id of the event.")],
    receipts: Annotated[
        Path | None, typer.Option(help="What clients were told, as `stampede` and `demo` write it (JSON lines).")
    ] = None,
    books: Annotated[bool, typer.Option(help="Ask the payment service for its books.")] = True,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Check a sale from outside: stored orders, inventory, the payment service's own books, clients' receipts.

    On a store in motion what could not be settled is unchecked, never false. Exit code 6 when an invariant is false.

    Examples: onsale verify gig · onsale verify gig --receipts receipts.jsonl --json
    """
    from infra.load.receipts import read_receipts
    from infra.local.outside import open_books, open_folder_store
    from infra.verify.run import report_of
    from infra.verify.run import verify as verify_sale
    from shared.system import SystemClock

    clock = SystemClock()
    gateway = open_books(data) if books else None
    if books and gateway is None:
        say("The payment service does not answer; what only its books know stays unchecked.")
    store = open_folder_store(data, clock)
    try:
        with _Bar() as bar:
            verification = verify_sale(
                store,
                gateway,
                event,
                clock=clock,
                receipts=None if receipts is None else read_receipts(receipts),
                progress=bar.add,
            )
        store.note_check(report_of(verification, clock.now_ms()))
    finally:
        store.close()
    if as_json:
        put_json(
            {
                "event": event,
                "orders": len(verification.facts.orders),
                "invariants": verification.truths,
                "because": {one.invariant: one.because for one in verification.verdicts},
                "examples": {one.invariant: one.examples for one in verification.verdicts if one.examples},
            }
        )
    else:
        rows = [(one.invariant, one.truth, "\n".join((one.because, *one.examples))) for one in verification.verdicts]
        put_table(("", "", ""), rows)
    if verification.broken:
        raise typer.Exit(BROKEN)


class _Bar:
    """Counts what has been read, on stderr."""

    def __init__(self) -> None:
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            MofNCompleteColumn(),
            console=console(),
            transient=True,
        )
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def add(self, step: str, count: int) -> None:
        """Show that `count` more of `step` were read."""
        from rich.progress import TaskID

        if step not in self._tasks:
            self._tasks[step] = self._progress.add_task(f"read {step}", total=None)
        self._progress.advance(TaskID(self._tasks[step]), count)
