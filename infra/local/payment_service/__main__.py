"""Runs the service: `python -m infra.local.payment_service --port 0 --data FILE --api-key …`.

Prints one JSON line (`url`, `port`, `pid`, `seed`) on stdout when it listens. Ends with 0 on SIGTERM or SIGINT, with 2
and a sentence on stderr when it cannot start.
"""

import errno
import fcntl
import json
import os
import signal
import socket
import sqlite3
import sys
import threading
from contextlib import closing
from types import FrameType
from typing import TextIO

import uvicorn

from infra.local.metric_files import MetricFile
from infra.local.payment_service import books
from infra.local.payment_service.app import Application
from infra.local.payment_service.counted import Counted
from infra.local.payment_service.dropping import DroppableProtocol
from infra.local.payment_service.options import Options, read_options
from shared.metering.watch import Watch
from shared.system import SystemClock

EXIT_CANNOT_START = 2
STOP_WITHIN_S = 1
IDLE_CONNECTION_S = 75
# This process's name among those that count.
PROCESS = "payment-service"


class CannotStart(Exception):
    """The payment service cannot start."""


class Server(uvicorn.Server):
    """uvicorn's server, which says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, ready: dict[str, object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started and not self.should_exit:
            print(json.dumps(self._ready), flush=True)  # noqa: T201 - this line is the program's output

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """Stop as soon as what is running is answered."""
        self.should_exit = True


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; returns the exit code."""
    options = read_options(arguments)
    try:
        lock = _open_books(options)
        listener = _listen(options)
    except CannotStart as error:
        print(str(error), file=sys.stderr)  # noqa: T201 - a person reads this
        return EXIT_CANNOT_START
    with lock, closing(listener):
        _serve(options, listener)
    return 0


def _serve(options: Options, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    clock = SystemClock()
    watch = Watch(clock)
    counts = MetricFile(options.settings.data.parent, PROCESS, watch, clock)
    config = uvicorn.Config(
        Counted(Application(options.settings).asgi, watch.meter),
        http=DroppableProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_CONNECTION_S,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    server = Server(config, {"url": url, "port": port, "pid": os.getpid(), "seed": options.settings.seed})
    # uvicorn raises the signal again once it has stopped; to have been told to stop is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.stop)
    if options.end_with_stdin:
        threading.Thread(target=_stop_with_stdin, args=(server,), daemon=True).start()
    with closing(counts):
        counts.start()
        server.run([listener])


def _stop_with_stdin(server: Server) -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    server.should_exit = True


def _open_books(options: Options) -> TextIO:
    data = options.settings.data
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        lock = data.with_name(data.name + ".lock").open("w", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        books.create(data)
    except BlockingIOError as error:
        raise CannotStart(
            f"Another payment service already keeps its books in {data}: stop it, or give another file with --data."
        ) from error
    except OSError as error:
        raise CannotStart(
            f"The books cannot be written at {data} ({error.strerror}): give a file in a writable folder with --data."
        ) from error
    except sqlite3.Error as error:
        raise CannotStart(f"{data} is no payment service's books ({error}): give another file with --data.") from error
    return lock


def _listen(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"Port {options.port} on {options.host} is taken: stop what uses it, or choose another with --port "
                "(0 takes a free one)."
            ) from error
        raise CannotStart(
            f"Cannot listen on {options.host}:{options.port} ({error}): choose another address with --host and --port."
        ) from error
    return listener


if __name__ == "__main__":
    sys.exit(main())
