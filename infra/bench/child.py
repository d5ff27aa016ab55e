"""Processes that are measured: each does as it is told line by line, and says what it has used up.

A child writes one JSON line when it is ready and one for every line it reads; it ends when its input does.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from shared.domain.errors import Unavailable

STOP_WITHIN_S = 15


class Child:
    """A module run as a program of its own."""

    def __init__(self, module: str, *arguments: str, environ: Mapping[str, str]) -> None:
        """Start it, and wait until it is ready."""
        self._child = subprocess.Popen(  # noqa: S603 - one of our own modules
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environ},
            text=True,
        )
        self.ready = self._answer()

    def ask(self, line: str) -> dict[str, Any]:
        """Send one line, return its answer."""
        if self._child.stdin is None:
            raise AssertionError("the child was started with a pipe")
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        if self._child.stdout is None:
            raise AssertionError("the child was started with a pipe")
        line = self._child.stdout.readline()
        if not line:
            raise Unavailable(f"A measured process ended with code {self._child.wait()}; run the benchmark again.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()


def usage() -> dict[str, float]:
    """Return this process's CPU time so far (all threads, seconds) and its highest resident size."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    rss_unit = 1024 * 1024 if sys.platform == "darwin" else 1024  # bytes on macOS, kilobytes elsewhere
    return {"cpu_s": used.ru_utime + used.ru_stime, "rss_mb": used.ru_maxrss / rss_unit}


def say(answer: Mapping[str, Any]) -> None:
    """Answer the parent."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
