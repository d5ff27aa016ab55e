"""Serves the API on one machine: `python -m infra.local.server --port 8000`.

The settings come from the environment (`ONSALE_…`). Prints one JSON line (`url`, `port`, `pid`) on stdout when it
listens, and logs on stderr. Ends with 0 on SIGTERM or SIGINT, with 2 and a sentence when it cannot start here, with 5
when the store cannot be reached.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn

from infra.cli.exits import exit_code_of
from infra.local.authorizer import Authorizer
from infra.local.counts import Counts
from infra.local.front import Front
from infra.local.gateway import Gateway
from infra.local.one_write import OneWriteProtocol
from infra.local.rush import Rush
from infra.local.tokens import local_key
from infra.local.with_metrics import WithMetrics
from infra.usage import Usage
from ingest.process import handler, shut, warm
from shared.collector import look_rarely
from shared.domain.errors import OnsaleError
from shared.settings import Settings, read_settings
from shared.system import SystemClock, SystemIds

DEFAULT_PORT = 8000
DEFAULT_THREADS = 16
STOP_WITHIN_S = 5
# This process's name among those that count.
PROCESS = "API"
IDLE_CONNECTION_S = 75
BACKLOG = 4096


class Server(uvicorn.Server):
    """uvicorn's server, which says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, front: Front, rush: Rush, ready: dict[str, object]) -> None:
        """Print `ready` when connections are taken; have `front` and `rush` end what they hold when told to stop."""
        super().__init__(config)
        self._front = front
        self._rush = rush
        self._ready = ready
        self._output = sys.stdout

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._output.write(json.dumps(self._ready) + "\n")
            self._output.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, and wait for nobody who only listens."""
        self._front.end_streams()
        await super().shutdown(sockets)
        await self._rush.end()

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """Stop as soon as what is running is answered."""
        self.should_exit = True


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; returns the exit code."""
    options = _options(arguments)
    try:
        listener = _listen(options.host, options.port)
    except Usage as error:
        return _sorry(error)
    look_rarely()
    with contextlib.closing(listener):
        try:
            settings = read_settings()
            counts = Counts(settings.data_dir, PROCESS, SystemClock())
            rush = Rush(settings)
            front = Front(_gateway(settings, rush, options.threads, counts))
        except OnsaleError as error:
            return _sorry(error)
        with contextlib.closing(counts), contextlib.closing(front):
            _serve(front, rush, counts, listener)
        shut()
    return 0


def _gateway(settings: Settings, rush: Rush, threads: int, counts: Counts) -> Gateway:
    clock, ids = SystemClock(), SystemIds()
    key = local_key(Path(settings.data_dir)).public_key()
    authorizer = Authorizer(key, issuer=settings.token_issuer, audience=settings.token_audience, clock=clock)
    # The logger keeps the stream it finds; standard output belongs to the one line that programs read.
    with contextlib.redirect_stdout(sys.stderr):
        warm(rush.host(threads, counts.watch, counts.others))
    return Gateway(handler, authorizer, clock=clock, ids=ids, threads=threads, fibers=rush.fibers)


def _serve(front: Front, rush: Rush, counts: Counts, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    config = uvicorn.Config(
        WithMetrics(front, counts.page),
        http=OneWriteProtocol,
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_CONNECTION_S,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = Server(config, front, rush, {"url": url, "port": port, "pid": os.getpid()})
    # uvicorn raises the signal again once it has stopped; to have been told to stop is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.stop)
    server.run([listener])


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise Usage(
                f"Port {port} on {host} is taken: stop what uses it, or choose another with --port (0 takes a free "
                "one)."
            ) from error
        raise Usage(
            f"Cannot listen on {host}:{port} ({error}): choose another address with --host and --port."
        ) from error
    return listener


def _sorry(error: OnsaleError) -> int:
    sys.stderr.write(f"{error.message}\n")
    return exit_code_of(error)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.local.server", description="Serve the API on one machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port, 0 for a free one (%(default)s)")
    parser.add_argument("--threads", type=int, default=DEFAULT_THREADS, help="requests answered at once (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
