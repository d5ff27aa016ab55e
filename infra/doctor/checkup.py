"""Checks without side effects that stay: each returns one line, good or bad, with what to do when it is bad."""

from __future__ import annotations

import contextlib
import email.utils
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.local.data_folder import DataFolder, Running
from infra.local.outside import folder_settings, open_folder_store
from shared.domain.errors import NotFound, OnsaleError
from shared.system import SystemClock

OLDEST_PYTHON = (3, 11)
# UPSERT … RETURNING and partial indexes are used; RETURNING came with 3.35.
OLDEST_SQLITE = (3, 35, 0)
LEAST_FREE_BYTES = 500_000_000
ANSWER_WITHIN_S = 3
# Tokens are valid from their second on, so clocks a few seconds apart refuse fresh ones.
CLOCKS_APART_S = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `good` is None when there was nothing to look at."""

    thing: str
    good: bool | None
    sentence: str


def examine(data: Path, port: int) -> Iterator[Finding]:
    """Look at everything, one thing after another; nothing that is found stops the rest."""
    running = DataFolder(data).running()
    checks: list[tuple[str, Callable[[], tuple[bool | None, str]]]] = [
        ("python", _python),
        ("sqlite", _sqlite),
        ("folder", lambda: _folder(data)),
        ("disk", lambda: _disk(data)),
        ("port", lambda: _port(port, running)),
        ("store", lambda: _store(data)),
        ("payment service", lambda: _answers(running.payment_url if running else None, "/_control/health")),
        ("API", lambda: _answers(running.url if running else None, "/healthz")),
        ("clock", lambda: _clock(running)),
    ]
    for thing, check in checks:
        try:
            good, sentence = check()
        except OnsaleError as error:
            good, sentence = False, error.message
        except OSError as error:
            good, sentence = False, f"{error}."
        yield Finding(thing, good, sentence)


def _python() -> tuple[bool, str]:
    version = sys.version_info
    enough = version >= OLDEST_PYTHON
    text = f"Python {version.major}.{version.minor}.{version.micro}"
    return enough, text if enough else f"{text}; 3.11 or later is needed."


def _sqlite() -> tuple[bool, str]:
    enough = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    text = f"SQLite {sqlite3.sqlite_version}"
    return enough, text if enough else f"{text}; {'.'.join(map(str, OLDEST_SQLITE))} or later is needed."


def _folder(data: Path) -> tuple[bool, str]:
    """Write where the data are, or would be, and take it away again."""
    place = _existing(data)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"onsale")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return False, f"{place} cannot be written ({error.strerror}); choose another folder with --data."
    return True, f"{data.resolve()} can be written."


def _disk(data: Path) -> tuple[bool, str]:
    free = shutil.disk_usage(_existing(data)).free
    text = f"{free / 1e9:.1f} GB are free"
    return free >= LEAST_FREE_BYTES, f"{text}." if free >= LEAST_FREE_BYTES else f"{text}; make room for the store."


def _port(port: int, running: Running | None) -> tuple[bool, str]:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if running is not None and running.url.endswith(f":{port}"):
                return True, f"{port} is in use by the system over this folder."
            return False, f"{port} cannot be used ({error.strerror}); start with another --port."
    return True, f"{port} is free."


def _store(data: Path) -> tuple[bool | None, str]:
    settings = folder_settings(data)
    try:
        store = open_folder_store(data, SystemClock())
    except NotFound:
        return None, "Nothing is stored yet; `onsale up` makes it."
    with contextlib.closing(store):
        sales = store.list_sales()
    return True, f"{settings.store} answers; it holds {len(sales)} sales."


def _answers(base: str | None, path: str) -> tuple[bool | None, str]:
    if base is None:
        return None, "No system has run over this folder; `onsale up` starts one."
    url = base + path
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310 - an address of our own
            return True, f"{url} answers {answer.status}."
    except urllib.error.URLError as error:
        return False, f"{url} does not answer ({error.reason}); start the system with `onsale up`."


def _clock(running: Running | None) -> tuple[bool | None, str]:
    """Compare this clock with the server's, and see that wall and monotonic time run alike."""
    wall, steady = time.time(), time.monotonic()
    time.sleep(0.05)
    drift_s = abs((time.time() - wall) - (time.monotonic() - steady))
    if drift_s > CLOCKS_APART_S:
        return False, f"The wall clock jumped by {drift_s:.1f} s just now; set it by NTP."
    if running is None:
        return None, "The wall clock runs evenly; no server to compare it with."
    try:
        with urllib.request.urlopen(f"{running.url}/healthz", timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310
            told = answer.headers.get("Date")
    except urllib.error.URLError:
        return None, "The wall clock runs evenly; the server does not answer."
    if told is None:
        return None, "The wall clock runs evenly; the server does not tell its own."
    # The header has whole seconds.
    apart_s = max(0.0, abs(email.utils.parsedate_to_datetime(told).timestamp() - time.time()) - 1)
    good = apart_s <= CLOCKS_APART_S
    return good, f"{apart_s:.1f} s apart from the server's" + ("." if good else "; set both by NTP.")


def _existing(path: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    path = path.resolve()
    while not path.exists():
        path = path.parent
    return path
