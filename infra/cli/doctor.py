"""`onsale doctor`: one line a thing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.exits import UNREACHABLE
from infra.cli.talk import put_json, put_table
from infra.cli.where import DEFAULT_DATA, AsJson, Data

if TYPE_CHECKING:
    from infra.doctor.checkup import Finding

_MARKS = {True: "ok", False: "bad", None: "-"}


def doctor(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port that `onsale up` would take.")] = 8000,
    data: Data = DEFAULT_DATA,
    aws: Annotated[bool, typer.Option("--aws", help="Look at an AWS account instead, against a plan.")] = False,
    stage: Annotated[str, typer.Option(help="With --aws: the stage that was deployed.")] = "prod",
    plan: Annotated[Path | None, typer.Option(help="With --aws: what `onsale plan --json` wrote.")] = None,
    region: Annotated[str, typer.Option(envvar="ONSALE_REGION", help="With --aws: the Region.")] = "us-east-1",
    as_json: AsJson = False,
) -> None:
    """Check what the system needs: Python, SQLite, folder, disk, port, store, payment service, API, clock.

    Exit code 5 when something is bad; what was never started is no fault.

    With --aws: quotas of Lambda, API Gateway and DynamoDB, provisioned concurrency, and warm throughput of the orders
    table and its index, against what the plan needs.

    Examples: onsale doctor · onsale doctor --port 9000 --json · onsale doctor --aws --stage prod --plan plan.json
    """
    from infra.doctor.checkup import examine

    findings = list(_account(stage, plan, region) if aws else examine(data, port))
    if as_json:
        put_json([{"thing": one.thing, "good": one.good, "sentence": one.sentence} for one in findings])
    else:
        put_table(("", "", ""), [(_MARKS[one.good], one.thing, one.sentence) for one in findings])
    if any(one.good is False for one in findings):
        raise typer.Exit(UNREACHABLE)


def _account(stage: str, plan: Path | None, region: str) -> Iterator[Finding]:
    import json
    from functools import partial

    from infra.aws.clients import open_client
    from infra.doctor.quotas import Need, examine_account
    from infra.usage import Usage

    if plan is None:
        raise Usage("Name the plan to compare with: onsale plan … --json > plan.json, then --plan plan.json.")
    try:
        need = Need.of_plan(json.loads(plan.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError) as error:
        raise Usage(f"{plan} is not what `onsale plan --json` writes ({error!r}).") from None
    return examine_account(partial(open_client, region=region), stage, need)
