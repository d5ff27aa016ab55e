"""The measured ingest process: the real handler behind the local gateway, over the store that the settings name.

With `--no-store` everything is the same but the store, which takes every order and keeps none.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import sys
import threading
from pathlib import Path

import uvicorn

from infra.bench.child import say, usage
from infra.bench.no_store import NoStore
from infra.local.authorizer import Authorizer
from infra.local.gateway import Gateway, Handler
from infra.local.one_write import OneWriteProtocol
from infra.local.rush import Rush
from infra.local.server import BACKLOG, DEFAULT_THREADS, IDLE_CONNECTION_S
from infra.local.tokens import local_key
from ingest.parts import make_parts
from ingest.process import build_app, handler, shut, warm
from shared.collector import look_rarely
from shared.metering.watch import Watch
from shared.observability import make_logger
from shared.payments.charges import check_chargeable
from shared.settings import read_settings
from shared.system import SystemClock, SystemIds


class _Server(uvicorn.Server):
    """uvicorn's server, which lets the store's connections end in the loop where they began."""

    def __init__(self, config: uvicorn.Config, rush: Rush) -> None:
        super().__init__(config)
        self._rush = rush

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await self._rush.end()


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    settings = read_settings()
    clock, ids = SystemClock(), SystemIds()
    rush = Rush(settings)
    with contextlib.redirect_stdout(sys.stderr):
        answer = _without_store() if options.no_store else _with_store(rush)
    look_rarely()
    key = local_key(Path(settings.data_dir)).public_key()
    authorizer = Authorizer(key, issuer=settings.token_issuer, audience=settings.token_audience, clock=clock)
    gateway = Gateway(answer, authorizer, clock=clock, ids=ids, threads=DEFAULT_THREADS, fibers=rush.fibers)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(BACKLOG)
    config = uvicorn.Config(
        gateway,
        http=OneWriteProtocol,
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_CONNECTION_S,
    )
    server = _Server(config, rush)
    threading.Thread(target=_obey, args=(server,), daemon=True).start()
    say({"port": listener.getsockname()[1]})
    with contextlib.closing(listener), contextlib.closing(gateway):
        server.run([listener])
    shut()


def _with_store(rush: Rush) -> Handler:
    warm(rush.host(DEFAULT_THREADS, Watch(SystemClock())))
    return handler


def _without_store() -> Handler:
    settings, clock = read_settings(), SystemClock()
    parts = make_parts(
        NoStore(clock),
        clock,
        SystemIds(),
        processes=1,
        check_chargeable=check_chargeable,
        logger=make_logger("ingest", settings),
    )
    return build_app(parts)


def _obey(server: uvicorn.Server) -> None:
    for _ in sys.stdin:
        say(usage())
    server.should_exit = True


if __name__ == "__main__":
    main()
