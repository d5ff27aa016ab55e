"""The real clock, the real source of randomness, and how threads wait."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class SystemClock:
    """The machine's own time."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()


def sleep_s(seconds: float) -> None:
    """Let the calling thread wait."""
    time.sleep(seconds)


def process_age_s() -> float:
    """Return the seconds since this process began; 0 where the system does not tell.

    Field 22 of proc_pid_stat(5) counts clock ticks from the start of the machine.
    """
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        began_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began_s)
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


class SystemIds:
    """Random numbers: the operating system's where nobody may guess them, else the interpreter's own.

    A question to the system makes the interpreter turn to other threads, which costs more than the answer.
    """

    def random_bytes(self, count: int) -> bytes:
        """Return unguessable bytes."""
        return secrets.token_bytes(count)

    def op_id(self) -> str:
        """Return 64 random bits as text: within one order's few writes no two agree."""
        return f"{random.getrandbits(64):016x}"

    def fraction(self) -> float:
        """Return a uniform number in [0, 1)."""
        return random.random()  # noqa: S311 - for jitter


class ThreadGate:
    """A gate before which a thread stands still."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        """Begin closed."""
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self) -> None:
        """Return when it is open."""
        self._lock.acquire()

    def open(self) -> None:
        """Open it."""
        self._lock.release()


class ThreadWaiting:
    """Every caller has a thread of its own, which stands still."""

    def may_block(self) -> bool:
        """Say yes."""
        return True

    def gate(self) -> ThreadGate:
        """Return a closed gate."""
        return ThreadGate()

    def start(self, job: Callable[[], object]) -> None:
        """Carry it out on a new thread."""
        threading.Thread(target=job).start()

    def hurry(self) -> None:
        """Do nothing: nothing is put off."""

    def sleep(self, seconds: float) -> None:
        """Let the thread wait."""
        sleep_s(seconds)


# How everybody waits who says nothing else.
THREADS = ThreadWaiting()
