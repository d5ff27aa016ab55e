"""Child processes that never outlive their parent, and say when they are ready."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from infra.local.leashed import PARENT
from shared.domain.errors import Unavailable

READY_WITHIN_S = 30.0
STOP_WITHIN_S = 10.0
TAIL_CHARS = 600


@dataclass(slots=True)
class Child:
    """One child: `python -m infra.local.leashed MODULE ARGUMENTS…`, its words in a log file.

    `first_line` is what it printed as JSON when it was ready; empty until then.
    """

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    first_line: dict[str, Any] = field(default_factory=dict)
    restarts: int = 0
    _process: subprocess.Popen[str] | None = None
    _ready: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start it, or start it again."""
        self._ready = threading.Event()
        self.first_line = {}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "infra.local.leashed", *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **self.environment, PARENT: str(os.getpid())},
                # A Ctrl-C at the terminal reaches the parent only, which ends the children in order.
                start_new_session=True,
            )
        out = self._process.stdout
        if out is not None:
            threading.Thread(target=self._listen, args=(out, self._ready), daemon=True).start()

    def wait_ready(self, within_s: float = READY_WITHIN_S) -> dict[str, Any]:
        """Return its first line once it has printed one; Unavailable, with its own last words, when it never does."""
        deadline = time.monotonic() + within_s
        while not self._ready.wait(0.05):
            if not self.alive or time.monotonic() > deadline:
                break
        if self._ready.wait(0.2) and self.first_line:
            return self.first_line
        code = None if self._process is None else self._process.poll()
        said = self.last_words() or "it said nothing"
        raise CouldNotStart(
            said if code is not None else f"The {self.name} is not ready after {within_s:.0f} s: {said}"
        )

    @property
    def alive(self) -> bool:
        """Say whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id, 0 before it was started."""
        return 0 if self._process is None else self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """End it without warning, as a power cut would."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def ask_to_stop(self) -> None:
        """Ask it to finish what it is doing."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_stopped(self, within_s: float = STOP_WITHIN_S) -> None:
        """Wait until it has ended, and end it hard when it does not."""
        if self._process is None:
            return
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def last_words(self) -> str:
        """Return the end of its log, one sentence if it was brief."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""
        return text[-TAIL_CHARS:]

    def _listen(self, out: IO[str], ready: threading.Event) -> None:
        for line in out:
            if not ready.is_set():
                try:
                    self.first_line = json.loads(line)
                except ValueError:
                    continue
                ready.set()
        out.close()


class CouldNotStart(Unavailable):
    """A part of the system could not start; its log says why."""

    code = "could-not-start"


def stop_all(children: Sequence[Child]) -> None:
    """Ask all of them to stop, then wait for each."""
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.wait_stopped()
