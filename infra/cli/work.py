"""`onsale work`: one worker, until it is asked to stop."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.talk import say
from infra.cli.where import DEFAULT_DATA, Data

if TYPE_CHECKING:
    from consumers.office import Office

# What the worker did is logged this often, if it did anything, and who waits is measured.
REPORT_EVERY_S = 5.0
READING_THREADS = 8


def work(
    name: Annotated[
        str | None, typer.Option(envvar="ONSALE_WORKER", help="Name among the workers; absent: host and process id.")
    ] = None,
    payment_threads: Annotated[
        int, typer.Option(min=1, max=256, envvar="ONSALE_PAYMENT_THREADS", help="Payment calls at a time.")
    ] = 16,
    orders_per_s: Annotated[
        float | None,
        typer.Option(min=0.1, envvar="ONSALE_WORKER_ORDERS_PER_S", help="Orders that leave the line by this worker."),
    ] = None,
    event_orders_per_s: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            envvar="ONSALE_EVENT_ORDERS_PER_S",
            help="Orders of one event that leave the line by all workers; the same for each of them.",
        ),
    ] = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """Find orders, give them seats, have them paid, issue tickets; share the work with whoever else does.

    Beside `onsale up` it needs nothing but the data folder; elsewhere the environment says which store and which
    payment service. Prints one line of JSON when it works. Ctrl-C or SIGTERM: it finishes its step and leaves.

    Examples: onsale work · onsale work --name night-shift · onsale work --data .onsale/demo
    """
    import contextlib
    import json

    from consumers.office import open_office
    from consumers.rates import Rates
    from consumers.worker import run_worker
    from infra.local.metric_files import MetricFile
    from infra.local.outside import folder_settings
    from infra.local.stopping import stop_on_signals

    name = name or f"{socket.gethostname()}-{os.getpid()}"
    stop = stop_on_signals()
    # The logger keeps the stream it finds; standard output belongs to the one line that programs read.
    with contextlib.redirect_stdout(sys.stderr):
        office = open_office(folder_settings(data))
    settings = office.settings

    def ready() -> None:
        sys.stdout.write(json.dumps({"worker": name, "store": settings.store, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()

    counts = MetricFile(settings.data_dir, name, office.watch, office.tools.clock)
    reporter = threading.Thread(target=_report, args=(office, stop), daemon=True)
    try:
        counts.start()
        reporter.start()
        run_worker(
            office.tools,
            name,
            stop,
            payment_threads=payment_threads,
            reading_threads=READING_THREADS if settings.store == "dynamodb" else 1,
            rates=Rates(orders_per_s, event_orders_per_s),
            ready=ready,
        )
    finally:
        stop.set()
        counts.close()
        office.close()
    say(f"{name} has left.")


def _report(office: Office, stop: threading.Event) -> None:
    while not stop.wait(REPORT_EVERY_S):
        office.report()
