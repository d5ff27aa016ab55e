"""`onsale work`: one worker, until it is asked to stop."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.talk import say

if TYPE_CHECKING:
    from consumers.tally import Tally

# What the worker did is logged this often, if it did anything.
REPORT_EVERY_S = 10.0
READING_THREADS = 8


def work(
    name: Annotated[
        str | None, typer.Option(envvar="ONSALE_WORKER", help="Name among the workers; absent: host and process id.")
    ] = None,
    payment_threads: Annotated[
        int, typer.Option(min=1, max=256, envvar="ONSALE_PAYMENT_THREADS", help="Payment calls at a time.")
    ] = 16,
) -> None:
    """Find orders, give them seats, have them paid, issue tickets; share the work with whoever else does.

    Prints one line of JSON when it works. Ctrl-C or SIGTERM: it finishes its step and leaves.

    Examples: onsale work · onsale work --name night-shift
    """
    import json
    import logging

    from aws_lambda_powertools.logging import utils

    from consumers.tally import Tally
    from consumers.tools import Tools
    from consumers.worker import run_worker
    from infra.local.stopping import stop_on_signals
    from shared.observability import make_logger
    from shared.settings import read_settings
    from shared.system import SystemClock, SystemIds
    from shared.wiring import open_gateway, open_store

    settings = read_settings()
    logger = make_logger("consumers", settings)
    logging.getLogger("consumers")  # it must be there to be given the format
    utils.copy_config_to_registered_loggers(logger, include={"consumers"})
    clock, ids, tally = SystemClock(), SystemIds(), Tally()
    name = name or f"{socket.gethostname()}-{os.getpid()}"
    stop = stop_on_signals()

    def ready() -> None:
        sys.stdout.write(json.dumps({"worker": name, "store": settings.store, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()

    store = open_store(settings, clock, ids)
    try:
        tools = Tools(store, open_gateway(settings, clock), clock, ids, observe=tally.add)
        reporter = threading.Thread(target=_report, args=(tally, stop), daemon=True)
        reporter.start()
        run_worker(
            tools,
            name,
            stop,
            payment_threads=payment_threads,
            reading_threads=READING_THREADS if settings.store == "dynamodb" else 1,
            ready=ready,
        )
    finally:
        stop.set()
        store.close()
    say(f"{name} has left.")


def _report(tally: Tally, stop: threading.Event) -> None:
    import logging

    logger = logging.getLogger("consumers.work")
    while not stop.wait(REPORT_EVERY_S):
        for event_id, counts in tally.take().items():
            logger.info("work done", extra={"event_id": event_id, "action": "work", "counts": counts})
