"""What the door takes in, and what that costs beside its yardsticks, all in one run.

One ingest process (the Lambda handler behind the local gateway) gets orders over HTTP from 64 keep-alive connections:
on SQLite with writes made durable in groups, on DynamoDB (ministack), and for each of them without the store. Beside
each store stand two bare writes of the same orders: on threads, as the store is used by itself (on DynamoDB by the
SDK's own transport), and by fibers, as the door does. Rounds are short and take turns, so that what else the machine
does falls on all alike.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from infra.bench.bench_sale import EVENT, bench_sale
from infra.bench.child import Child
from infra.bench.http_load import Load
from infra.bench.http_load import run as send_load
from infra.bench.where_and_when import where_and_when
from infra.local.ministack import Ministack, create_local_tables
from infra.local.minting import DAY_S
from infra.local.server import DEFAULT_THREADS
from infra.local.tokens import TokenMint, local_key
from shared.domain.errors import Broken
from shared.settings import Settings, read_settings
from shared.system import SystemClock
from shared.wiring import open_bare_store

CONNECTIONS = 64
# So many that none of them orders faster than a person: the door slows those down.
BUYERS = 2_000
CPU_OVERHEAD = 1.15
VS_NOOP = 0.6
STORES = ("sqlite", "ministack")
_PREFIX = "onsale-bench"
_WARM_UP_S = 1.0

Say = Callable[[str], None]


@dataclass(slots=True)
class _Sum:
    """What several rounds of one kind came to."""

    done: int = 0
    cpu_s: float = 0.0
    seconds: float = 0.0
    ms: list[float] = field(default_factory=list)
    rss_mb: float = 0.0

    @property
    def per_s(self) -> float:
        return self.done / self.seconds

    @property
    def cpu_ms(self) -> float:
        return self.cpu_s / self.done * 1000


def run(*, stores: tuple[str, ...], rounds: int, seconds: float, say: Say) -> dict[str, Any]:
    """Measure; Broken when anything but 202 was answered."""
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="onsale-bench-")))
        requests = _Requests(folder / "tokens")
        environs = {store: _environ(store, folder, undo) for store in stores}
        servers = {store: _server(environ, undo) for store, environ in environs.items()}
        servers |= {_without(store): _server(environ, undo, "--no-store") for store, environ in environs.items()}
        writers = {store: _writer(store, folder, environ, undo) for store, environ in environs.items()}
        writers |= {
            _by_fibers(store): _writer(_by_fibers(store), folder, environ, undo, "--fibers")
            for store, environ in environs.items()
        }
        sums: dict[str, _Sum] = {name: _Sum() for name in servers}
        bare: dict[str, _Sum] = {name: _Sum() for name in writers}
        for name, server in servers.items():
            say(f"Warming up: {name}")
            _send(_Sum(), server, requests, _WARM_UP_S)
        for number in range(rounds):
            for name, server in servers.items():
                _send(sums[name], server, requests, seconds)
            for name, writer in writers.items():
                _write(bare[name], writer, seconds)
            say(f"Round {number + 1} of {rounds} is measured.")
        return _figures(sums, bare)


def _without(store: str) -> str:
    return f"{store}, without it"


def _by_fibers(store: str) -> str:
    return f"{store}, by fibers"


def _send(total: _Sum, server: Child, requests: _Requests, seconds: float) -> None:
    before = server.ask("usage")
    load: Load = send_load(
        server.ready["port"], requests.make, requests.numbers, connections=CONNECTIONS, seconds=seconds
    )
    after = server.ask("usage")
    if load.others or not load.accepted_ms:
        raise Broken(f"The door did not take every order: {load.others}.")
    total.done += len(load.accepted_ms)
    total.cpu_s += after["cpu_s"] - before["cpu_s"]
    total.seconds += load.seconds
    total.ms += load.accepted_ms
    total.rss_mb = after["rss_mb"]


def _write(total: _Sum, writer: Child, seconds: float) -> None:
    answer = writer.ask(str(seconds))
    total.done += answer["written"]
    total.cpu_s += answer["cpu_s"]
    total.seconds += answer["seconds"]


def _figures(sums: Mapping[str, _Sum], bare: Mapping[str, _Sum]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        **where_and_when(),
        "against": "the same route without a store, and the bare store write by as many threads (and by fibers)",
        "connections": CONNECTIONS,
        "threads": DEFAULT_THREADS,
        "stores": {},
    }
    for name in (name for name in sums if _without(name) in sums):
        orders, none, write, alike = sums[name], sums[_without(name)], bare[name], bare[_by_fibers(name)]
        figures["stores"][name] = {
            "cpu_overhead": round(orders.cpu_ms / (none.cpu_ms + write.cpu_ms), 3),
            "cpu_overhead_by_fibers": round(orders.cpu_ms / (none.cpu_ms + alike.cpu_ms), 3),
            "vs_noop": round(orders.per_s / none.per_s, 3),
            "accepted_per_s": round(orders.per_s, 1),
            "p50_ms": round(statistics.median(orders.ms), 2),
            "p99_ms": round(statistics.quantiles(orders.ms, n=100)[98], 2),
            "cpu_ms_per_order": round(orders.cpu_ms, 4),
            "rss_mb": round(orders.rss_mb, 1),
            "noop_per_s": round(none.per_s, 1),
            "noop_cpu_ms": round(none.cpu_ms, 4),
            "bare_write_per_s": round(write.per_s, 1),
            "bare_write_cpu_ms": round(write.cpu_ms, 4),
            "bare_write_by_fibers_per_s": round(alike.per_s, 1),
            "bare_write_by_fibers_cpu_ms": round(alike.cpu_ms, 4),
        }
    return figures


class _Requests:
    """Writes the bytes of one order after another, each of another buyer and under a key of its own."""

    def __init__(self, folder: Path) -> None:
        settings = read_settings({})
        mint = TokenMint(
            local_key(folder), issuer=settings.token_issuer, audience=settings.token_audience, clock=SystemClock()
        )
        body = b'{"lines":[{"ticket_type_id":"standing","quantity":2}],"payment_method":"pm_card_visa"}'
        self._heads = [
            f"POST /v1/events/{EVENT}/orders HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {mint.mint(f'buyer-{number}', ('buy',), DAY_S)}\r\n"
            f"content-length: {len(body)}\r\nidempotency-key: ".encode()
            for number in range(BUYERS)
        ]
        self._tail = b"\r\n\r\n" + body
        self._run = secrets.token_hex(8)
        self.numbers = count()

    def make(self, number: int) -> bytes:
        return self._heads[number % BUYERS] + f"{self._run}-{number}".encode() + self._tail


def _environ(store: str, folder: Path, undo: ExitStack) -> dict[str, str]:
    """Prepare a store with the sale in it; return the settings of a process over it."""
    data = folder / store
    data.mkdir()
    (data / "token-key.pem").symlink_to(folder / "tokens" / "token-key.pem")
    environ = {"ONSALE_DATA_DIR": str(data), "ONSALE_STORE": "sqlite", "ONSALE_LOG_LEVEL": "INFO"}
    if store == "ministack":
        emulator = undo.enter_context(Ministack())
        create_local_tables(emulator.url, _PREFIX)
        environ |= {
            "ONSALE_STORE": "dynamodb",
            "ONSALE_DYNAMODB_URL": emulator.url,
            "ONSALE_TABLE_PREFIX": _PREFIX,
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
        }
    clock = SystemClock()
    opened = open_bare_store(_settings(environ), clock)
    opened.create_sale(bench_sale(clock.now_ms()))
    opened.close()
    return environ


def _settings(environ: Mapping[str, str]) -> Settings:
    return read_settings({name: value for name, value in environ.items() if name.startswith("ONSALE_")})


def _server(environ: Mapping[str, str], undo: ExitStack, *arguments: str) -> Child:
    return undo.enter_context(Child("infra.bench.ingest_server", *arguments, environ=environ))


def _writer(name: str, folder: Path, environ: Mapping[str, str], undo: ExitStack, *arguments: str) -> Child:
    """Start a writer, on SQLite over a file of its own: it shares the turn at the door's with nobody."""
    environ = {**environ, "ONSALE_DATA_DIR": str(folder / f"{name}-bare")}
    return undo.enter_context(Child("infra.bench.bare_write", *arguments, environ=environ))
