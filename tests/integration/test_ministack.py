"""The emulator's process: where it listens, and that it ends."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.local import ministack as harness
from infra.local.ministack import ENVIRONMENT, Ministack, create_local_tables, ministack_python
from shared.domain.errors import Unavailable
from shared.stores.dynamo.store import open_store
from tests.builders import make_order

ROOT = Path(__file__).parents[2]
WITHIN_S = 20


def _port(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def _answers(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def _ends(port: int) -> bool:
    """Wait until nobody listens any more."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if not _answers("127.0.0.1", port):
            return True
        time.sleep(0.02)
    return False


def test_a_server_keeps_orders_and_ends_with_its_block() -> None:
    """Tables are made, an order is stored, and afterwards neither process nor folder is left."""
    with Ministack() as server:
        create_local_tables(server.url, "own")
        store = open_store("own", region="us-east-1", endpoint_url=server.url)
        assert store.accept(make_order()).created
        store.close()
        folder = server._folder

    assert not _answers("127.0.0.1", _port(server.url))
    assert not folder.exists()


def test_it_listens_on_the_loopback_interface_only(ministack: str) -> None:
    """Every other address of this machine refuses the connection."""
    assert _answers("127.0.0.1", _port(ministack))
    assert not _answers("127.0.0.2", _port(ministack))


def test_it_ends_when_its_parent_is_killed() -> None:
    """A parent that had no chance to clean up leaves no server behind."""
    program = (
        "from infra.local.ministack import Ministack\n"
        "server = Ministack()\n"
        "print(server.url, flush=True)\n"
        "import threading; threading.Event().wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        port = _port(parent.stdout.readline().strip())
        assert _answers("127.0.0.1", port)
    finally:
        parent.kill()
        parent.communicate()

    assert _ends(port)


def test_without_a_package_index_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that cannot reach PyPI gets a sentence, and nothing that looks finished."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "own"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    with pytest.raises(Unavailable, match="PyPI"):
        ministack_python()

    assert not (tmp_path / "own" / ".stamp").exists()


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process wrote before it ended is in the error."""
    monkeypatch.setattr(harness, "_BOOT", "raise SystemExit('no good today')")

    with pytest.raises(Unavailable, match="no good today"):
        Ministack()
