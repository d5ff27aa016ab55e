"""`python -m consumers`: one worker until it is asked to stop (SIGTERM), for containers; needs run-time parts only.

The name among the workers is ONSALE_WORKER, or the host and the process. Prints one line of JSON when it works.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading

from consumers.drain import READING_THREADS
from consumers.office import Office, open_office
from consumers.worker import PAYMENT_THREADS, run_worker
from shared.domain.errors import OnsaleError

# What was done is logged this often, if anything was.
REPORT_EVERY_S = 10.0


def main() -> int:
    """Work; returns the exit code: 0 when asked to stop, 5 with a sentence when it could not begin."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    name = os.environ.get("ONSALE_WORKER") or f"{socket.gethostname()}-{os.getpid()}"
    try:
        office = open_office()
    except OnsaleError as error:
        sys.stderr.write(f"{error.message}\n")
        return 5
    reporter = threading.Thread(target=_report, args=(office, stop), name="report")
    reporter.start()
    try:
        run_worker(
            office.tools,
            name,
            stop,
            payment_threads=PAYMENT_THREADS,
            reading_threads=READING_THREADS,
            ready=lambda: _say_ready(name),
        )
    except OnsaleError as error:
        sys.stderr.write(f"{error.message}\n")
        return 5
    finally:
        stop.set()
        reporter.join()
        office.close()
    return 0


def _report(office: Office, stop: threading.Event) -> None:
    while not stop.wait(REPORT_EVERY_S):
        office.report()
    office.report()


def _say_ready(name: str) -> None:
    sys.stdout.write(json.dumps({"worker": name, "pid": os.getpid()}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
