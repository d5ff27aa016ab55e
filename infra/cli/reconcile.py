"""`onsale reconcile`: our orders against the payment service's books, both ways."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.exits import BROKEN
from infra.cli.talk import put_facts, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data

if TYPE_CHECKING:
    from consumers.reconcile.report import Report
    from shared.ports.payment import PaymentGateway
    from shared.ports.store import Store


def reconcile(
    since_hours: Annotated[float, typer.Option(min=0, help="How far back to look; 0 looks at everything.")] = 0,
    every: Annotated[
        float | None, typer.Option(min=1, help="Do it again and again, so many seconds apart, until SIGTERM.")
    ] = None,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Compare every payment of ours with its order, and every order with its payment.

    What a worker can mend it is sent to look at; the rest is listed with a sentence each. Exit code 6 when something
    needs a person.

    Examples: onsale reconcile · onsale reconcile --since-hours 24 --json · onsale reconcile --every 60
    """
    from infra.local.outside import folder_settings, open_folder_store
    from shared.system import SystemClock
    from shared.wiring import open_gateway

    clock = SystemClock()
    store = open_folder_store(data, clock)
    try:
        gateway = open_gateway(folder_settings(data), clock)
        if every is not None:
            _keep_on(store, gateway, every, since_hours, data)
            return
        report = _once(store, gateway, since_hours)
    finally:
        store.close()
    if as_json:
        put_json(report.as_dict())
    else:
        _show(report)
    if report.for_a_person:
        raise typer.Exit(BROKEN)


def _once(store: Store, gateway: PaymentGateway, since_hours: float) -> Report:
    from consumers.reconcile.handler import keep, since
    from consumers.reconcile.walk import Reconciler
    from shared.system import SystemClock, SystemIds

    clock = SystemClock()
    report = Reconciler(store, gateway, clock, SystemIds()).walk(since_ms=since(clock, since_hours))
    keep(store, clock, report)
    return report


def _keep_on(store: Store, gateway: PaymentGateway, every_s: float, since_hours: float, data: Path) -> None:
    """Walk until asked to stop; a back end that is silent is tried again next time."""
    from consumers.reconcile.handler import tell
    from infra.local.outside import folder_settings
    from infra.local.stopping import stop_on_signals
    from shared.domain.errors import Unavailable
    from shared.observability import make_logger

    logger = make_logger("consumers", folder_settings(data))
    stop = stop_on_signals()
    sys.stdout.write(json.dumps({"reconciles_every_s": every_s}) + "\n")
    sys.stdout.flush()
    while not stop.wait(every_s):
        try:
            tell(logger, _once(store, gateway, since_hours))
        except Unavailable as error:
            logger.warning("payments could not be reconciled now", extra={"action": "reconcile", "why": error.code})


def _show(report: Report) -> None:
    put_facts({name: value for name, value in report.as_dict().items() if isinstance(value, int)})
    rows = [(str(one.course), one.event_id, one.order_id, one.sentence) for one in report.findings]
    if rows:
        put_table(("", "event", "order", ""), rows)
    elif not report.open:
        say("Orders and payments agree.")
