"""`onsale export` and `onsale restore`: a sale out of one store, and into another of either kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.talk import console, put_facts, put_json, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data


def export(
    folder: Annotated[Path, typer.Argument(help="Folder for the backup; an interrupted export into it goes on.")],
    event: Annotated[str, typer.Option("--event", help="Id of the event.")],
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Write a sale's orders, seats and definition into a folder, with a checksum for each segment.

    Pause the sale with its allocation first (`onsale sale pause EVENT --all`): a sale in motion moves between pages.

    Examples: onsale export backup/gig --event gig · onsale export backup/gig --event gig --json
    """
    from infra.backup.export import export_sale
    from infra.backup.folder import Folder
    from infra.local.outside import folder_settings, open_folder_store
    from shared.system import SystemClock
    from shared.wiring import open_backup

    clock = SystemClock()
    store = open_folder_store(data, clock)
    backup = open_backup(folder_settings(data), clock)
    try:
        with _bar("export") as progress:
            done = export_sale(store, backup, event, Folder(folder), progress)
    finally:
        backup.close()
        store.close()
    if not done.still:
        say("Seats moved meanwhile; the copy may not verify. Pause the sale with --all and export into a new folder.")
    facts = {"event": done.event_id, "items": done.items, "segments": done.segments, "still": done.still}
    (put_json if as_json else put_facts)(facts)


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Check a backup whole, then write it into a store that does not have the sale.

    The store is the data folder's, or the one that the environment names (ONSALE_STORE, ONSALE_TABLE_PREFIX, …). Exit
    code 6 when a segment is missing or altered, 4 when the store has the sale. Compare with `onsale verify` afterwards.

    Examples: onsale restore backup/gig --data .onsale/copy · onsale restore backup/gig --json
    """
    from infra.backup.folder import Folder
    from infra.backup.restore import restore_sale
    from infra.local.outside import folder_settings
    from shared.system import SystemClock, SystemIds
    from shared.wiring import open_backup, open_store

    clock = SystemClock()
    settings = folder_settings(data)
    store = open_store(settings, clock, SystemIds())
    backup = open_backup(settings, clock)
    try:
        with _bar("restore") as progress:
            event_id = restore_sale(store, backup, Folder(folder), progress)
    finally:
        backup.close()
        store.close()
    (put_json if as_json else put_facts)({"event": event_id})


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int], None]]:
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("items"))
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda count: bar.advance(task, count)
