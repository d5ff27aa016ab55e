"""`onsale up` as a process, and the command line beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ONSALE = [sys.executable, "-m", "infra.cli.main"]
# Generous: the machine may be busy with other things.
WITHIN_S = 120


@dataclass(frozen=True, slots=True)
class Up:
    """A running system: what it said when it was ready."""

    process: subprocess.Popen[str]
    told: dict[str, Any]
    data: Path

    @property
    def url(self) -> str:
        """The API's address."""
        return str(self.told["url"])

    def onsale(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command over the same data folder."""
        return onsale(*arguments, "--data", str(self.data))


def onsale(*arguments: str, within_s: float = WITHIN_S) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell would."""
    return subprocess.run([*ONSALE, *arguments], capture_output=True, text=True, check=False, timeout=within_s)


@contextmanager
def up(data: Path, *arguments: str) -> Iterator[Up]:
    """Start the system and wait until it says that it is ready; stop it as Ctrl-C does."""
    process = subprocess.Popen(
        [*ONSALE, "up", "--port", "0", "--data", str(data), "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Up(process, _first_json(process), data)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WITHIN_S)
        if process.stdout is not None:
            process.stdout.close()


def _first_json(process: subprocess.Popen[str]) -> dict[str, Any]:
    text = ""
    for line in process.stdout or ():
        text += line
        if line.rstrip() == "}":
            break
    told: dict[str, Any] = json.loads(text)
    return told


def wait_until_gone(pids: list[int], within_s: float = 60) -> list[int]:
    """Return those processes that are still there after a while."""
    deadline = time.monotonic() + within_s
    while (left := [pid for pid in pids if _there(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _there(pid: int) -> bool:
    """Say whether a process runs; a dead one that nobody has collected yet does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
