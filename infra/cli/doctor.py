"""`onsale doctor`: one line a thing."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.exits import UNREACHABLE
from infra.cli.talk import put_json, put_table
from infra.cli.where import DEFAULT_DATA, AsJson, Data

_MARKS = {True: "ok", False: "bad", None: "-"}


def doctor(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port that `onsale up` would take.")] = 8000,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Check what the system needs: Python, SQLite, folder, disk, port, store, payment service, API, clock.

    Exit code 5 when something is bad; what was never started is no fault.

    Examples: onsale doctor · onsale doctor --port 9000 --json
    """
    from infra.doctor.checkup import examine

    findings = list(examine(data, port))
    if as_json:
        put_json([{"thing": one.thing, "good": one.good, "sentence": one.sentence} for one in findings])
    else:
        put_table(("", "", ""), [(_MARKS[one.good], one.thing, one.sentence) for one in findings])
    if any(one.good is False for one in findings):
        raise typer.Exit(UNREACHABLE)
