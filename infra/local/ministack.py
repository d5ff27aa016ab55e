"""Runs DynamoDB on this machine: ministack in an environment of its own, as a process that ends with ours.

It pins an older botocore than ours, hence the separate environment: `.venv-ministack` beside the sources, or the folder
named by ONSALE_MINISTACK_VENV. Made once, from hashes; made again when `ministack.lock` has changed.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from infra.own_environment import OwnEnvironment
from shared.domain.errors import Unavailable
from shared.stores.dynamo.client import connect
from shared.stores.dynamo.tables import Tables, create_tables

LOCK = Path(__file__).with_name("ministack.lock")
ENVIRONMENT = "ONSALE_MINISTACK_VENV"
REGION = "us-east-1"
# HTTP APIs made under another account than this one answer 404.
ACCOUNT_ID = "000000000000"
SERVICES = ("dynamodb", "dynamodbstreams")

READY_WITHIN_S = 30
STOP_WITHIN_S = 10
# A free port can be taken by somebody else before the server listens on it.
MAX_STARTS = 3
_POLL_S = 0.02

# Ends the server when our end of the pipe closes: however this process ends, none is left behind.
_BOOT = """
import os, shutil, threading
def watch():
    while os.read(0, 1):
        pass
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from ministack.app import main
main()
"""


class Ministack:
    """A running server at `url`, on the loopback interface only. Leaving it as a context manager ends it."""

    def __init__(self, services: tuple[str, ...] = SERVICES) -> None:
        """Start one with the named services; Unavailable with a sentence when that is not possible."""
        python = ministack_python()
        said = ""
        for _ in range(MAX_STARTS):
            self._folder = Path(tempfile.mkdtemp(prefix="onsale-ministack-"))
            self._log = self._folder / "log"
            port = _free_port()
            self.url = f"http://127.0.0.1:{port}"
            with self._log.open("wb") as log:
                self._child = subprocess.Popen(
                    [python, "-c", _BOOT],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=_variables(port, services, self._folder),
                )
            if self._ready(port):
                return
            said = self._log.read_text(errors="replace")[-500:]
            self.stop()
        raise Unavailable(f"ministack did not start. It said: {said}")

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._child.pid

    def stop(self) -> None:
        """End the server and forget its data."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ready(self, port: int) -> bool:
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline and self._child.poll() is None:
            if _answers(port):
                return True
            time.sleep(_POLL_S)
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def create_local_tables(url: str, prefix: str, region: str = REGION) -> None:
    """Create the tables of one prefix on a local server."""
    client = connect(region, url)
    try:
        create_tables(client, Tables(prefix))
    finally:
        client.close()


def ministack_python() -> Path:
    """Return the interpreter that has ministack, after making its environment where that was not done yet."""
    return OwnEnvironment("ministack", LOCK, ENVIRONMENT).python()


def _variables(port: int, services: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Give the server nothing of our own environment but the path: it takes settings from many variables."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "MINISTACK_REGION": REGION,
        "SERVICES": ",".join(services),
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(folder),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/_ministack/ready")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
