"""The local server as a process, and people who talk to it over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.tokens import TokenMint, local_key
from shared.settings import Settings
from shared.system import SystemClock

ROOT = Path(__file__).parents[2]
ANSWER_WITHIN_S = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where a server listens, and what it was started with."""

    port: int
    process: subprocess.Popen[str]
    mint: TokenMint

    def token(self, subject: str, *scopes: str) -> str:
        """Mint a token with the server's own key."""
        return self.mint.mint(subject, scopes or ["buy"], 600)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request over a connection of its own."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_WITHIN_S)) as line:
            line.request(method, path, data, sent)
            answer = line.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


def make_mint(folder: Path) -> TokenMint:
    """Return a mint that signs with the key of `folder` under the default settings."""
    settings = Settings()
    return TokenMint(
        local_key(folder), issuer=settings.token_issuer, audience=settings.token_audience, clock=SystemClock()
    )


@contextlib.contextmanager
def running_server(folder: Path, *arguments: str, **settings: str) -> Iterator[RunningServer]:
    """Start a server over a SQLite file in `folder` on a free port, and stop it at the end."""
    process = start(folder, "--port", "0", *arguments, **settings)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield RunningServer(json.loads(line)["port"], process, make_mint(folder))
    finally:
        process.terminate()
        process.communicate(timeout=20)


def start(folder: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    """Start the server's program with `ONSALE_…` settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONSALE_")}
    environment |= {"ONSALE_DATA_DIR": str(folder), "ONSALE_LOG_LEVEL": "WARNING", **settings}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "infra.local.server", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
