"""Starts the payment service as a process of its own and says where it listens."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from infra.local.payment_service.options import ENV

STOP_WITHIN_S = 10


class NotStarted(Exception):
    """The payment service did not start; what it said on stderr says why."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a service is started with; `flags` are further command-line flags, such as faults by name."""

    data: Path
    api_key: str
    publishable_key: str = "pk_test_local"
    port: int = 0
    webhook_url: str | None = None
    webhook_secrets: tuple[str, ...] = ()
    flags: Mapping[str, str | float] | None = None


class PaymentProcess:
    """A running payment service. Leaving it as a context manager stops it cleanly."""

    def __init__(self, launch: Launch) -> None:
        self._child = subprocess.Popen(
            _command(launch), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(launch)
        )
        line = self._child.stdout.readline() if self._child.stdout else ""
        if not line:
            raise NotStarted(f"The payment service ended with exit code {self._child.wait()} before it listened.")
        ready = json.loads(line)
        self.url: str = ready["url"]
        self.port: int = ready["port"]
        self.pid: int = ready["pid"]
        self.seed: int = ready["seed"]

    def stop(self) -> int:
        """Ask it to end, wait, and return its exit code; a service that has ended stays so."""
        self._child.terminate()
        return self._ended()

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self._child.kill()
        self._ended()

    def _ended(self) -> int:
        try:
            return self._child.wait(STOP_WITHIN_S)
        finally:
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe:
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _command(launch: Launch) -> list[str]:
    # However this process ends, its end of the pipe closes, and the service does not outlive it.
    command = [sys.executable, "-m", "infra.local.payment_service", "--end-with-stdin"]
    command += ["--data", str(launch.data), "--port", str(launch.port)]
    if launch.webhook_url is not None:
        command += ["--webhook-url", launch.webhook_url]
    for name, value in (launch.flags or {}).items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return command


def _environment(launch: Launch) -> dict[str, str]:
    # Secrets go by the environment: a command line is open to every user of the machine.
    return os.environ | {
        f"{ENV}API_KEY": launch.api_key,
        f"{ENV}PUBLISHABLE_KEY": launch.publishable_key,
        f"{ENV}WEBHOOK_SECRET": ",".join(launch.webhook_secrets),
    }
